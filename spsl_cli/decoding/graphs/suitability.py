"""Whether a decoding runs in steps of fixed shape, and why not: what is known beforehand, and a step tried.

Knows what `spsl doctor` and the counters are told; the steps themselves it only makes.
"""

from __future__ import annotations

import torch

from spsl_cli.decoding.graphs.capture import GraphRecorder, devices_of, told
from spsl_cli.decoding.graphs.static_cache import blank
from spsl_cli.decoding.graphs.steps import StaticSteps
from spsl_cli.decoding.kv_cache import DecoderCache
from spsl_cli.decoding.probe import LOOSE_TOLERANCE, TOLERANCE
from spsl_cli.decoding.target import TargetModel
from spsl_cli.errors import UnsupportedModelError


def choose_steps(
    target: TargetModel, cache: DecoderCache, *, wanted: bool | None = None, drafts: bool = True, strict: bool = False
) -> tuple[StaticSteps | None, str | None]:
    """Steps for a decoding that begins, and why they are no graphs; None where forwards are to run as ever.

    wanted: None takes them where they can be graphs, True everywhere, False nowhere. drafts: whether views are
    prepared; what they hold is kept. strict: whether every forward has to have the one shape of strict mode.
    A first step is compared with the forward it stands for.
    """
    on_cuda = target.device.type == "cuda"
    if wanted is False:
        return None, "turned off"
    if strict:
        return None, "in strict mode every forward has a shape of its own"
    if not (on_cuda or wanted):
        return None, f"the model is on {target.device}, not on a CUDA device"
    places = devices_of(target)
    if len(places) > 1:
        return None, f"the model is spread over {', '.join(places)}"
    blank(cache, views=drafts)
    recorder = GraphRecorder(target.device) if on_cuda else None
    steps = StaticSteps(target, cache, record=recorder, reason=None if on_cuda else f"the model is on {target.device}")
    wrong = _what_is_wrong(target, cache, steps)
    return (steps, steps.reason) if wrong is None else (None, wrong)


def _what_is_wrong(target: TargetModel, cache: DecoderCache, steps: StaticSteps) -> str | None:
    """Whether a step, replayed one position further, computes what the same forward does otherwise.

    Something of the host's that a step depends on (a position counted in the model) would show there.
    """
    sequences = tuple(range(len(cache.lengths)))
    lines = [[(7919 * sequence + 11 + i) % target.vocabulary for i in range(2)] for sequence in sequences]
    expected = target.dense_forward(cache, torch.tensor(lines, device=target.device), sequences).float()
    try:
        actual = steps.one_by_one(sequences, lines)
    except torch.OutOfMemoryError:
        raise
    except (AttributeError, LookupError, RuntimeError, TypeError, ValueError, UnsupportedModelError) as error:
        return f"the model does not run in steps of fixed shape ({told(error)})"
    apart = (actual.float() - expected).abs().amax(-1) / expected.abs().max().clamp_min(1e-6)
    apart = apart if target.dtype in TOLERANCE else apart.median()
    difference = float(apart.max())
    if difference <= TOLERANCE.get(target.dtype, LOOSE_TOLERANCE):
        return None
    return f"steps of fixed shape differ from the model's forward by {difference:.1e} of the logits' magnitude"
