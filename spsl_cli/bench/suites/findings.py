"""What is found across the cells of a suite: how well entropy tells acceptance, and what a controller leaves behind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from spsl_cli.bench.records import CellRecord, SystemRecord
from spsl_cli.bench.series import base_name, draft_length

BINS = 5
"""As many tokens in each, by entropy."""

FIXED = "fixed"


def entropy_findings(cells: Sequence[CellRecord]) -> dict[str, Any]:
    """AUC of negative entropy, and bins of it, over tokens whose predecessors all stood, of drafts of a fixed length.

    A draft that a controller ends by entropy would hide what entropy has to say; where there is none of fixed length,
    those of the others count.
    """
    systems = [system for cell in cells for system in cell.systems]
    fixed = [system for system in systems if base_name(system) == FIXED]
    tokens = sorted(token for system in fixed or systems for token in _judged(system))
    if not tokens:
        return {}
    return {"auc": auc(tokens), "tokens": len(tokens), "bins": list(_bins(tokens))}


def _judged(system: SystemRecord) -> Iterator[tuple[float, bool]]:
    """Entropy and fate of every drafted token that was judged on its own: those that stood, and the first that fell."""
    for draft in (system.speculation or {}).get("drafts", ()):
        accepted, entropies = draft["accepted"], draft["entropies"]
        for place, nats in enumerate(entropies[: accepted + 1]):
            yield nats, place < accepted


def auc(tokens: Sequence[tuple[float, bool]]) -> float | None:
    """The chance that an accepted token has less entropy than a rejected one; ties count half. None without both.

    tokens: (entropy, accepted), sorted by entropy.
    """
    stood = sum(accepted for _, accepted in tokens)
    fell = len(tokens) - stood
    if not stood or not fell:
        return None
    pairs, before, at = 0.0, 0, 0  # `before`: accepted with less entropy
    while at < len(tokens):
        end = at
        while end < len(tokens) and tokens[end][0] == tokens[at][0]:
            end += 1
        here = sum(accepted for _, accepted in tokens[at:end])
        pairs += (end - at - here) * (before + here / 2)
        before, at = before + here, end
    return pairs / (stood * fell)


def _bins(tokens: Sequence[tuple[float, bool]]) -> Iterator[dict[str, Any]]:
    for number in range(BINS):
        part = tokens[number * len(tokens) // BINS : (number + 1) * len(tokens) // BINS]
        if part:
            accepted = sum(stood for _, stood in part) / len(part)
            yield {"low": part[0][0], "high": part[-1][0], "tokens": len(part), "accepted": accepted}


def regret_findings(cells: Sequence[CellRecord]) -> dict[str, Any]:
    """For every system that adapts its drafts, by cell, how much of the best fixed length's speed it has left out."""
    found: dict[str, dict[str, float]] = {}
    best: dict[str, str] = {}
    for cell in cells:
        told = [system for system in cell.systems if system.speedup is not None]
        fixed = [system for system in told if draft_length(cell, system) is not None]
        if not fixed:
            continue
        first = max(fixed, key=_speed)
        best[cell.name] = first.name
        for system in told:
            if draft_length(cell, system) is None:
                found.setdefault(system.name, {})[cell.name] = 1 - _speed(system) / _speed(first)
    return {"best fixed": best, "regret": found} if found else {}


def _speed(system: SystemRecord) -> float:
    assert system.speedup is not None  # noqa: S101 chosen so
    return system.speedup.median
