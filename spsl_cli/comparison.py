"""The same prompt decoded by the plain loop on the same prefill: how fast, and whether the tokens are the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from spsl_cli.events import Comparison, Event, Progress, Tokens

if TYPE_CHECKING:
    from spsl_cli.decoding.run import DecodingRun


def compare_with_plain(
    run: DecodingRun, report: Callable[[Event], None], interrupted: Callable[[], bool] = lambda: False
) -> Comparison | None:
    """Decode again without speculation, after the decoding that `run` has just finished; None if `interrupted`."""
    ours, stats = list(run.output.token_ids), run.stats()
    run.rewind()
    for event in run.decode(speculation=False):
        if isinstance(event, Tokens):
            report(Progress("compare with plain decoding", len(run.output.token_ids), len(ours), "tokens"))
        if interrupted():
            return None
    plain, plain_stats = list(run.output.token_ids), run.stats()
    greedy = run.requests[0].greedy
    difference = first_difference(ours, plain) if greedy else None
    margin = None
    if difference:  # token 0 comes from the prefill that both share
        margin = run.margins(difference)[difference - 1]
    measured = plain_stats.tokens_per_s and stats.tokens_per_s
    return Comparison(
        baseline="ar",
        tokens_per_s=plain_stats.tokens_per_s,
        decode_s=plain_stats.decode_s,
        speedup=stats.tokens_per_s / plain_stats.tokens_per_s if measured else None,
        identical=difference is None if greedy else None,
        first_difference=difference,
        top2_margin=margin,
    )


def first_difference(ours: Sequence[int], theirs: Sequence[int]) -> int | None:
    """The index of the first token that differs or is missing on one side; None if the sequences are equal."""
    for i, (a, b) in enumerate(zip(ours, theirs, strict=False)):
        if a != b:
            return i
    return None if len(ours) == len(theirs) else min(len(ours), len(theirs))
