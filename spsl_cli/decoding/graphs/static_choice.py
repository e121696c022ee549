"""How a static step chooses its next token: on the device, nothing read by the host.

The same functions of the logits as the choosers', and the same throws of the dice: a greedy row has the same tokens,
and a drawn row has, for a seed, the same tokens. Knows scores that follow from the logits alone: no repetition
penalty, no constraint, no processor.
"""

from __future__ import annotations

import torch

from spsl_cli.decoding.config import SamplingConfig
from spsl_cli.decoding.graphs.static_state import StepState
from spsl_cli.decoding.sampling import filtered


def choose(logits: torch.Tensor, state: StepState, sampling: SamplingConfig) -> torch.Tensor:
    """Tokens [R] behind logits [R, V]; what they were chosen from goes into the state at its depth."""
    scores = logits.to(torch.promote_types(logits.dtype, torch.float32))
    if state.distributions is None:
        return _likeliest(scores, state)
    return _drawn(filtered(scores, sampling), scores, state, state.distributions)


def _likeliest(scores: torch.Tensor, state: StepState) -> torch.Tensor:
    log_p = scores.log_softmax(-1)
    best = scores.topk(min(2, scores.shape[-1])).values
    entropy = -(log_p.exp() * log_p).nan_to_num(0.0).sum(-1)
    chosen = scores.argmax(-1)
    _note(state, chosen, entropy, best[:, 0] - best[:, -1], log_p.amax(-1).exp())
    return chosen


def _drawn(kept: torch.Tensor, scores: torch.Tensor, state: StepState, distributions: torch.Tensor) -> torch.Tensor:
    """By the inverse distribution function, as `SeededDice` draws."""
    p = kept.softmax(-1)
    p = torch.where(p.isnan().any(-1, keepdim=True), scores.softmax(-1), p)  # no one may come to it; the verify judges
    total = p.double().cumsum(-1)
    thrown = state.uniforms.index_select(0, state.depth)[0]
    index = torch.searchsorted(total, (thrown * total[:, -1])[:, None], right=True)[:, 0]
    # The product may round up to the whole sum: then the last index that has any probability.
    places = torch.arange(p.shape[-1], device=p.device)
    chosen = index.minimum((places * (p > 0)).amax(-1))
    likely = p.topk(min(2, p.shape[-1])).values.double()
    margin = (likely[:, 0] / likely[:, -1]).log()
    distributions.index_copy_(0, state.depth, p[None])
    _note(state, chosen, torch.special.entr(p).sum(-1), margin, p.gather(-1, chosen[:, None])[:, 0])
    return chosen


def _note(state: StepState, *found: torch.Tensor) -> None:
    values = torch.stack([each.double() for each in found], -1)
    state.record.index_copy_(0, state.depth, values[None])
