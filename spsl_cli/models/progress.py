"""How the stages of getting a model tell how far they are. Who shows it, and how, is not known here."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, float, float | None, str], None]
"""`progress(stage, done, total, unit)`; `total` is None while it is not known, `done == total` ends the stage."""

LOOK_UP = "look up model"
FETCH = "fetch model"
CONVERT = "convert model"
LOAD = "load model"


def silent(stage: str, done: float, total: float | None, unit: str) -> None:
    """The progress of someone who does not want to know."""
