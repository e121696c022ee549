"""What is remembered of a run: enough to run it again, and how fast this machine read."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from spsl_cli import __version__
from spsl_cli.answer import Answer, ModelFacts, answer_json
from spsl_cli.machine import cache_root
from spsl_cli.storage import history

SCHEMA = "spsl.history/1"
LEAST_PREFILLED = 256
RECENT = 5
_SECRET = "--password"  # noqa: S105 the option's name


def history_file() -> Path:
    """Where the history lies: `history.jsonl` in the cache folder."""
    return cache_root() / "history.jsonl"


def remember(answers: Sequence[Answer], words: Sequence[str]) -> None:
    """Add answers to the history, given by these words of the command line. Raises OSError."""
    for answer in answers:
        facts = answer_json(answer)
        for name in ("schema", "token_ids", "prompt_token_ids"):
            del facts[name]
        entry = {
            "schema": SCHEMA,
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
            "version": __version__,
            "folder": str(Path.cwd()),
            "words": without_secrets(words),
        }
        history.append(history_file(), entry | facts)


def prefill_rate(model: ModelFacts) -> float | None:
    """Tokens a second at which this model read prompts here lately; None if it did not."""
    rates: list[float] = []
    for entry in history.entries(history_file()):
        rate = _rate(entry, model)
        if rate is not None:
            rates.append(rate)
        if len(rates) == RECENT:
            break
    return median(rates) if rates else None


def without_secrets(words: Sequence[str]) -> list[str]:
    """The words but for passwords."""
    kept: list[str] = []
    for word in words:
        if kept and kept[-1] == _SECRET:
            kept.append("...")
        elif word.startswith(f"{_SECRET}="):
            kept.append(f"{_SECRET}=...")
        else:
            kept.append(word)
    return kept


def _rate(entry: dict[str, Any], model: ModelFacts) -> float | None:
    try:
        facts, tokens, seconds = entry["model"], entry["usage"]["prefilled_tokens"], entry["timing"]["prefill_s"]
        same = (facts["id"], facts["revision"], facts["dtype"], facts["device"], facts["quantization"])
        if same != (model.id, model.revision, model.dtype, model.device, model.quantization):
            return None
        return float(tokens) / float(seconds) if tokens >= LEAST_PREFILLED and seconds > 0 else None
    except (KeyError, TypeError, ValueError):
        return None
