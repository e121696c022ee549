"""Samples of published benchmarks out of files that the user has: JSON, one a line or a list. Downloads nothing.

What a line means, `local_formats` knows. Nothing is shortened: what is too long is left out, and how often is told.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from spsl_cli.bench.tasks.base import Ruler, Sample
from spsl_cli.bench.tasks.local_formats import Item, items
from spsl_cli.documents.encoding import whole_signs
from spsl_cli.documents.wording import os_reason, shown
from spsl_cli.errors import NoReadableInputError, UsageError

_CHARACTERS_PER_TOKEN = 16
"""More than tokenizers have on average: of a longer text, its beginning is measured first."""


@dataclass(frozen=True)
class LocalFile:
    """The samples of a file of RULER, LongBench v2, InfiniteBench or L-Eval; `tell` is told what is left out."""

    name: ClassVar[str] = "file"
    new_tokens: ClassVar[int] = 128

    path: Path
    tell: Callable[[str], None]

    def samples(self, ruler: Ruler, tokens: int, count: int, seed: int) -> list[Sample]:
        """The first `count` samples of at most `tokens` tokens with their question; no seed changes them.

        Raises NoReadableInputError for a file that cannot be read, with the line that is damaged, and UsageError if
        every sample is too long.
        """
        del seed
        found: list[Sample] = []
        left_out = 0
        for place, record in _records(self.path):
            for item in _items(record, place, self.path):
                if len(found) == count:
                    break
                if _is_longer(ruler, f"{item.text}\n{item.question}", tokens):
                    left_out += 1
                else:
                    found.append(_sample(item, len(found), place))
            if len(found) == count:
                break
        return self._told(found, left_out, tokens)

    def _told(self, found: list[Sample], left_out: int, tokens: int) -> list[Sample]:
        name = shown(str(self.path))
        if not found and not left_out:
            raise NoReadableInputError(f"no sample in {name}", hint="name a file of a benchmark, one of JSON a line")
        if not found:
            raise UsageError(f"all {left_out} samples of {name} are longer than {tokens:,} tokens", hint="allow more")
        if left_out:
            self.tell(f"{name}: {left_out} of {left_out + len(found)} samples left out: longer than {tokens:,} tokens")
        return found


def _sample(item: Item, number: int, place: str) -> Sample:
    text, question = whole_signs(item.text), whole_signs(item.question)
    return Sample(LocalFile.name, number, text, question, item.answers, item.metric, place)


def _items(record: Any, place: str, path: Path) -> list[Item]:
    """`items`, told by the names of the file and its folder, which RULER calls after the task."""
    folder_tells = path.stem in ("validation", "test")
    try:
        return items(record, path.parent.name if folder_tells else path.stem)
    except ValueError as error:
        raise NoReadableInputError(f"{place}: {error}", hint="mend or remove it") from error


def _records(path: Path) -> Iterator[tuple[str, Any]]:
    """Every record and its place, such as `file.jsonl, line 3`; of a file of lines only one is in memory."""
    name = shown(str(path))
    try:
        with path.open("rb") as file:
            if _is_list(file.peek(64)):
                yield from ((f"{name}, entry {number}", one) for number, one in enumerate(_list(file.read(), name), 1))
                return
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield f"{name}, line {number}", _parsed(line, f"{name}, line {number}")
    except (OSError, ValueError) as error:
        raise NoReadableInputError(f"{name}: {os_reason(error)}", hint="name a file that can be read") from error


def _is_list(beginning: bytes) -> bool:
    return beginning.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"[")


def _list(data: bytes, name: str) -> list[Any]:
    whole = _parsed(data, name)
    if not isinstance(whole, list):
        raise NoReadableInputError(f"{name}: not a list of samples", hint="name a file of a benchmark")
    return whole


def _parsed(data: bytes, place: str) -> Any:
    try:
        return json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise NoReadableInputError(f"{place}: not JSON ({reason})", hint="mend or remove it") from error


def _is_longer(ruler: Ruler, text: str, tokens: int) -> bool:
    beginning = text[: _CHARACTERS_PER_TOKEN * tokens]
    return ruler.count(beginning) > tokens or (len(text) > len(beginning) and ruler.count(text) > tokens)
