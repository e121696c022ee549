"""Long real text for tasks: what comes with Python, or the user's own documents. Knows neither tasks nor tokens."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import PurePath
from random import Random

from spsl_cli.documents import read_paths
from spsl_cli.errors import NoReadableInputError

_GAPS = tuple(map(re.compile, (r"\n\s*\n", r"\n", r"\s", "")))
"""Where a text may begin, best first: a paragraph, a line, a word, anywhere."""


@dataclass(frozen=True)
class TextSource:
    """Texts that may be put together in any order. `name`: for the report."""

    name: str
    texts: tuple[str, ...] = field(repr=False)

    def text(self, rng: Random) -> str:
        """Everything, each text once: in an order of its own for every `rng`, and beginning at a place of its own."""
        whole = "\n\n".join(rng.sample(self.texts, len(self.texts)))
        place = rng.randrange(len(whole))
        gap = next(found for pattern in _GAPS if (found := pattern.search(whole, place)))
        return f"{whole[gap.end() :].strip()}\n\n{whole[: gap.start()].strip()}".strip()


def builtin_texts() -> tuple[str, ...]:
    """Python's language reference by topic: some 460,000 characters in all, in the order of the topics' names."""
    from pydoc_data.topics import topics  # noqa: PLC0415 half a megabyte

    return tuple(topics[name] for name in sorted(topics))


def builtin_source() -> TextSource:
    """The language reference of the Python that runs this; other versions of Python have other text."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return TextSource(f"pydoc_data.topics of Python {version}", builtin_texts())


def own_source(path: str, tell: Callable[[str], None]) -> TextSource:
    """The text of a file, or of all files of a folder; `tell` is told what was left out.

    Raises NoReadableInputError if there is no text.
    """
    collection = read_paths([path])
    for skip in collection.skipped:
        if not skip.by_rule:
            tell(f"skipped {skip.path}: {skip.reason}")
    texts = tuple(text for document in collection.documents if (text := document.text.replace("\f", "\n\n").strip()))
    if not texts:
        raise NoReadableInputError(f"no text in {path}", hint="name a text file, or a folder of them")
    return TextSource(PurePath(path).name or path, texts)
