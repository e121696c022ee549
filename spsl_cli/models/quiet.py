"""Keeps Hugging Face's libraries from writing to the terminal, and hears their progress bars instead.

Everything changed is put back, however the block ends.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from typing import Any, Self

BarReport = Callable[[float, float | None], None]
"""`report(done, total)` of whatever a library counts."""


def _ignore(done: float, total: float | None) -> None:
    """Nobody listens."""


class SilentBar:
    """Stands where a library makes a tqdm bar; prints nothing."""

    def __init__(
        self, iterable: Iterable[Any] = (), *, total: float | None = None, report: BarReport = _ignore, **_: Any
    ) -> None:
        self._iterable = iterable
        self._report = report
        self.total = total if total is not None else _length(iterable)
        self.n: float = 0

    def __iter__(self) -> Iterator[Any]:
        for item in self._iterable:
            yield item
            self.update()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def update(self, n: float = 1) -> None:
        """Count `n` more."""
        self.n += n
        self._report(self.n, self.total)

    def __getattr__(self, _: str) -> Callable[..., None]:
        """Descriptions, postfixes, refreshing and closing: accepted, without effect."""
        return lambda *_args, **_kwargs: None


def _length(iterable: Iterable[Any]) -> int | None:
    return len(iterable) if isinstance(iterable, Sized) else None


@contextmanager
def quiet(report: BarReport = _ignore) -> Iterator[None]:
    """No log line, warning or bar of transformers or huggingface_hub inside; bars of transformers go to `report`."""
    import transformers.utils.logging as hf_logging  # noqa: PLC0415 - importing transformers takes seconds

    def bar(_factory: object, args: tuple[Any, ...], kwargs: dict[str, Any]) -> SilentBar:
        return SilentBar(*args, **kwargs, report=report)

    loggers = [logging.getLogger(name) for name in ("transformers", "huggingface_hub")]
    levels = [logger.level for logger in loggers]
    hook = hf_logging.set_tqdm_hook(bar)
    try:
        for logger in loggers:
            logger.setLevel(logging.CRITICAL + 1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        hf_logging.set_tqdm_hook(hook)
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
