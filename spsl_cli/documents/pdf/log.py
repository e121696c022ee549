"""What pypdf logs while it reads becomes messages for the user; nothing of it reaches stderr."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from spsl_cli.documents.wording import count, one_line

_MOST_MESSAGES = 3
# Where pypdf cannot tell what a font's codes mean, it is found out by other ways, and told if it is not.
_SETTLED = ("Advanced encoding", "fontTools is required")


class Messages(logging.Handler):
    """Collects warnings and errors, each once; of very many only the first few and how many more there were."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._seen: dict[str, None] = {}
        self._dropped = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Takes one record of pypdf's."""
        try:
            text = record.getMessage()
        except Exception:  # noqa: BLE001 - a message is made of the document's own objects, whose repr may fail
            text = str(record.msg)
        if text.startswith(_SETTLED):
            return
        # A dictionary of the file, printed out, tells a user nothing and makes each message differ from the last.
        message = one_line(f"pypdf: {text.partition('{')[0]}")
        if message in self._seen:
            return
        if len(self._seen) < _MOST_MESSAGES:
            self._seen[message] = None
        else:
            self._dropped += 1

    def take(self) -> tuple[str, ...]:
        """The messages since the last call, in order."""
        messages = tuple(self._seen)
        if self._dropped:
            messages += (f"pypdf: {count(self._dropped, 'more remark')}",)
        self._seen, self._dropped = {}, 0
        return messages


@contextmanager
def captured() -> Iterator[Messages]:
    """Redirects pypdf's logging while it lasts, whatever the application's own logging is set to."""
    logger = logging.getLogger("pypdf")
    handlers, propagate, level = logger.handlers[:], logger.propagate, logger.level
    messages = Messages()
    logger.handlers[:], logger.propagate = [messages], False
    logger.setLevel(logging.WARNING)
    try:
        yield messages
    finally:
        logger.handlers[:], logger.propagate = handlers, propagate
        logger.setLevel(level)
