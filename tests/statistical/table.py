"""A target and its draft as tables: logits from a hash of the prefix. The real loop runs on it, thousands of times.

The loop, the choosers and the controllers are those of the decoder; only the forwards are replaced, so that a run takes
no time and the exact distribution of its output can be computed beside it.
"""

from __future__ import annotations

from functools import lru_cache

import torch

from spsl_cli.decoding import engine
from spsl_cli.decoding.chooser import make_chooser
from spsl_cli.decoding.config import SamplingConfig
from spsl_cli.decoding.counters import Counters
from spsl_cli.decoding.forward_state import ForwardState
from spsl_cli.decoding.kv_cache import DecoderCache
from spsl_cli.decoding.lookup import PromptLookup
from spsl_cli.decoding.output import Output
from spsl_cli.decoding.row import Row
from tests.models import draft_config

PROMPT = (1, 0)


class TableTarget:
    """Forwards by table. `quality` mixes the target's own logits into the draft's: 1 is a perfect draft."""

    device = torch.device("cpu")
    weight_bytes = dense_bytes = 0
    layer_count = 1

    def __init__(self, vocabulary: int, quality: float, seed: int = 0) -> None:
        self.vocabulary, self.quality, self.seed = vocabulary, quality, seed
        self.written: list[int] = list(PROMPT)
        self.draft: list[int] = []
        self.logits = lru_cache(maxsize=None)(self._logits)

    def _logits(self, prefix: tuple[int, ...], draft: bool) -> torch.Tensor:
        own = self._table(prefix, 0)
        return self.quality * own + (1 - self.quality) * self._table(prefix, 1) if draft else own

    def _table(self, prefix: tuple[int, ...], which: int) -> torch.Tensor:
        number = hash((self.seed, which, *prefix)) % 2**31
        return 2.0 * torch.randn(self.vocabulary, generator=torch.Generator().manual_seed(number))

    def dense_forward(self, cache, token_ids, _sequences, *, keep=0, mass=False, logits=0, strict=False):
        """Logits behind each input; inputs overwrite whatever was written behind the committed tokens."""
        self.written[cache.lengths[0] :] = token_ids[0].tolist()
        rows = [self.logits(tuple(self.written[: cache.lengths[0] + i + 1]), False) for i in range(token_ids.shape[1])]
        return torch.stack(rows)[None]

    def draft_forward(self, cache, token_ids, _sequences, depths):
        """Logits behind each input, which stand behind the committed tokens and the draft so far."""
        self.draft[depths[0] :] = token_ids[0].tolist()
        committed = tuple(self.written[: cache.lengths[0]])
        ends = range(depths[0] + 1, len(self.draft) + 1)
        return torch.stack([self.logits((*committed, *self.draft[:end]), True) for end in ends])[None]


def run_loop(target, sampling, dice, k, new_tokens, lookup=False):
    """One decoding of the real loop behind `PROMPT`; the new tokens. k may be the name of a controller."""
    cache = DecoderCache([], ForwardState(), [len(PROMPT)], [len(PROMPT) + new_tokens], [0], [1.0], [0], [0])
    chooser, config = make_chooser(sampling, dice), draft_config(k, lookup=lookup)
    row = Row(0, chooser, Output(new_tokens), Counters(config, new_tokens=1), False, PromptLookup() if lookup else None)
    chooser.note(PROMPT)
    if row.lookup is not None:
        row.lookup.note(PROMPT)
    target.written = list(PROMPT)
    row.take([chooser.choose(target.logits(PROMPT, False)).token])
    for _ in engine.SpeculativeLoop(target, cache, [row], config).run():
        pass
    return tuple(row.output.token_ids)


def exact_distribution(target, sampling: SamplingConfig, new_tokens: int) -> dict[tuple[int, ...], float]:
    """The probability of every output, by the chain rule from the target alone."""
    outputs = {(): 1.0}
    for _ in range(new_tokens):
        longer = {}
        for tokens, weight in outputs.items():
            logits = target.logits(PROMPT + tokens, False)[None]
            chooser = make_chooser(sampling)
            chooser.note(PROMPT + tokens)
            p = chooser._distributions(logits, ())[0].tolist()
            longer |= {(*tokens, token): weight * chance for token, chance in enumerate(p) if chance > 0}
        outputs = longer
    return outputs


class Path:
    """Dice that replay a list of decisions and note the weight of each; what is open at its end is tried in turn."""

    def __init__(self, decisions: list[int]) -> None:
        self.decisions, self.at, self.weight, self.open = decisions, 0, 1.0, []

    def _decide(self, weights: list[float]) -> int:
        possible = [i for i, weight in enumerate(weights) if weight > 0]
        if self.at == len(self.decisions):
            self.open += [[*self.decisions, other] for other in possible[1:]]
            self.decisions = [*self.decisions, possible[0]]
        choice = self.decisions[self.at]
        self.at += 1
        self.weight *= weights[choice] / sum(weights)
        return choice

    def accepts(self, probability: float) -> bool:
        return self._decide([1.0 - probability, probability]) == 1

    def draw(self, distribution: torch.Tensor) -> int:
        return self._decide(distribution.double().tolist())


def enumerated_distribution(target, sampling, k, new_tokens, lookup=False) -> dict[tuple[int, ...], float]:
    """The probability of every output of the real loop: every way the dice can fall, its weight summed up."""
    outputs: dict[tuple[int, ...], float] = {}
    waiting: list[list[int]] = [[]]
    while waiting:
        path = Path(waiting.pop())
        tokens = run_loop(target, sampling, path, k, new_tokens, lookup)
        outputs[tokens] = outputs.get(tokens, 0.0) + path.weight
        waiting += path.open
    return outputs
