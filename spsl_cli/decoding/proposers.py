"""Where drafts come from: earlier text, or the target model itself over the sparse view of its cache, or both.

Both: the sparse model checks looked-up tokens several at a time, which costs it little more than one of its own, and
its draft is what it would have drafted without them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from spsl_cli.decoding.chooser import Choice
from spsl_cli.decoding.config import K_MAX, SamplingConfig
from spsl_cli.decoding.controllers import Controller, Evidence
from spsl_cli.decoding.graphs.steps import StaticSteps
from spsl_cli.decoding.kv_cache import DecoderCache
from spsl_cli.decoding.lookup import Match
from spsl_cli.decoding.row import Row
from spsl_cli.decoding.target import TargetModel


@dataclass(frozen=True)
class DraftToken:
    """A drafted token, and what is known of it before the verify."""

    choice: Choice
    evidence: Evidence

    @property
    def token(self) -> int:
        """Its id."""
        return self.choice.token


Drafts = list[list[DraftToken]]
"""For each row its drafted tokens in order: as many for all, but for rows that have room or a match for fewer."""


def look_up(rows: Sequence[Row], length: int) -> Drafts:
    """Up to `length` tokens of earlier text for every row, for no row more than it has room for."""
    drafts: Drafts = []
    for row in rows:
        match = row.looked_up(limit=min(length, row.room))
        drafts.append([])
        if match is not None:
            evidence = Evidence(0.0, match=match.length)
            drafts[-1] += [DraftToken(Choice(token), evidence) for token in match.tokens]
    return drafts


class SparseSelfDraft:
    """Drafts by forwards over the gathered rows and those that this draft has written.

    steps: forwards of fixed shape, if there are any; they draft as many tokens as the controller aims at before the
    host looks at them.
    """

    def __init__(self, target: TargetModel, cache: DecoderCache, steps: StaticSteps | None = None) -> None:
        self.target = target
        self.cache = cache
        self.steps = steps

    def propose(self, rows: Sequence[Row], controller: Controller) -> tuple[Drafts, int]:
        """Tokens behind each pending one, as many as the controller wants, and how many forwards they took.

        No row gets more than it has room for. The controller sees what tokens are drawn from and whether lookup named
        them; a token once drawn stays in the draft. A row that has enough is run on beside the others, but nothing is
        chosen for it.
        """
        sequences = tuple(row.sequence for row in rows)
        drafts: Drafts = [[] for _ in rows]
        forwards = 0
        while True:
            wanting = [i for i, row in enumerate(rows) if len(drafts[i]) < min(row.room, K_MAX)]
            known = [[token.evidence for token in drafts[i]] for i in wanting]
            if not wanting or not controller.wants_more(known):
                return drafts, forwards
            matches = [self._guess(row, draft, controller) for row, draft in zip(rows, drafts, strict=True)]
            sampling = _common_sampling(rows) if self.steps else None
            if self.steps and sampling and not any(match and match.tokens[1:] for match in matches):
                aim = controller.k_star - min(len(drafts[i]) for i in wanting)
                forwards += self._ahead(self.steps, sampling, rows, drafts, aim, controller)
                continue
            logits = self._forward(rows, sequences, drafts, matches)
            forwards += 1
            for i in wanting:
                self._choose(rows[i], drafts[i], matches[i], logits[i])

    def _ahead(
        self,
        steps: StaticSteps,
        sampling: SamplingConfig,
        rows: Sequence[Row],
        drafts: Drafts,
        aim: int,
        controller: Controller,
    ) -> int:
        """`aim` tokens a row, or what there is room for, chosen on the device and read at once; how many forwards.

        What the controller makes of the first of them comes too late for the others: they stay in the draft.
        """
        rooms = [min(row.room, K_MAX) - len(draft) for row, draft in zip(rows, drafts, strict=True)]
        count = max(1, min(aim, max(rooms)))
        throws = [
            [*row.chooser.throws(min(count, room)), *[0.0] * count][:count]
            for row, room in zip(rows, rooms, strict=True)
        ]
        last = [_last(row, draft) for row, draft in zip(rows, drafts, strict=True)]
        sequences, depths = [row.sequence for row in rows], [len(draft) for draft in drafts]
        chosen = steps.draft(sequences, last, depths, count, sampling, list(zip(*throws, strict=True)))
        for row, draft, room, choices in zip(rows, drafts, rooms, chosen, strict=True):
            for choice in choices[: max(room, 0)]:
                self._add(row, draft, choice, self._guess(row, draft, controller))
        return count

    def _guess(self, row: Row, draft: Sequence[DraftToken], controller: Controller) -> Match | None:
        """Looked-up tokens behind this draft: those to check at once, and one more to compare the next token with."""
        most = min(row.room, K_MAX) - len(draft)
        match = row.looked_up([token.token for token in draft], most)
        if match is None:
            return None
        return Match(match.length, match.tokens[: controller.guesses(match.length, most - 1) + 1])

    def _forward(
        self, rows: Sequence[Row], sequences: Sequence[int], drafts: Drafts, matches: Sequence[Match | None]
    ) -> torch.Tensor:
        """The last token of each draft and the guesses behind it, over the sparse view: logits [R, q, V]."""
        lines = []
        for row, draft, match in zip(rows, drafts, matches, strict=True):
            lines.append([_last(row, draft), *(match.tokens[:-1] if match else ())])
        depths, lines = [len(draft) for draft in drafts], filled_up(lines)
        if self.steps:
            return self.steps.sparse(sequences, lines, depths)
        return self.target.draft_forward(self.cache, torch.tensor(lines, device=self.target.device), sequences, depths)

    def _choose(self, row: Row, draft: list[DraftToken], match: Match | None, logits: torch.Tensor) -> None:
        """Choose behind each input, as long as the model agrees with the guesses."""
        for i in range(max(len(match.tokens) if match else 0, 1)):
            choice = row.chooser.choose(logits[i], [token.token for token in draft])
            if not self._add(row, draft, choice, match, i):
                return

    def _add(self, row: Row, draft: list[DraftToken], choice: Choice, match: Match | None, i: int = 0) -> bool:
        """One more token of a draft; whether guess `i` of the match named it."""
        agrees = match is not None and choice.token in match.tokens[i : i + 1]
        length = match.length + i if match else 0
        coverage, match_length = self.cache.coverage[row.sequence], length if agrees else -length
        evidence = Evidence(choice.entropy, choice.margin, match_length, coverage, choice.probability)
        draft.append(DraftToken(choice, evidence))
        return agrees


def _last(row: Row, draft: Sequence[DraftToken]) -> int:
    """The token that a draft goes on behind."""
    return draft[-1].token if draft else row.pending


def _common_sampling(rows: Sequence[Row]) -> SamplingConfig | None:
    """How all rows choose, if that is all there is to it."""
    ways = {row.chooser.sampling for row in rows}
    return ways.pop() if len(ways) == 1 else None


def filled_up(lines: Sequence[Sequence[int]]) -> list[list[int]]:
    """Lines of one length: the shorter ones repeat their last token."""
    longest = max(map(len, lines))
    return [[*line, *[line[-1]] * (longest - len(line))] for line in lines]
