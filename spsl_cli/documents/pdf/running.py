"""Headers and footers that run through the pages of a document. Knows lines and page numbers, no PDF.

A line runs if it stands in the margin of at least three pages and of more than half of a run of pages, or of more than
half of the odd or of the even ones; numbers in it may go along with the page's. Any other difference makes it another
line: a sum at the foot of a table, or the time of printing, is no page number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from spsl_cli.documents.pdf.raw import RawPage

_FEWEST_PAGES = 4
_FEWEST_TIMES = 3
# One page of the odd or the even ones may be missing between two.
_WIDEST_STEP = 4
_LONGEST = 200
_MOST_NUMBERS, _MOST_TIMES = 6, 3
_FEWEST_LETTERS = 3
_NUMBER = re.compile(r"\d{1,5}(?!\d)|(?<![^\W_])(?:[ivxlc]{1,8}|[IVXLC]{1,8})(?![^\W_])")
_ROMAN = re.compile(r"(c{0,3})(xc|xl|l?x{0,3})(ix|iv|v?i{0,3})")
_ROMAN_DIGITS = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}


def repeated_lines(pages: Sequence[RawPage]) -> list[frozenset[int]]:
    """For each page, the indexes of its lines that are a header's or a footer's; where one begins, its line stays.

    Pages of which nothing else would be left keep all, as do documents of fewer than four pages.
    """
    found: list[set[int]] = [set() for _ in pages]
    if len(pages) < _FEWEST_PAGES:
        return [frozenset() for _ in pages]
    texts = [page.text.split("\n") if page.margins else [] for page in pages]
    places: dict[str, dict[int, list[int]]] = {}
    for number, (page, lines) in enumerate(zip(pages, texts, strict=True)):
        for at in page.margins:
            for form in _forms(" ".join(lines[at].split()), number) if 0 <= at < len(lines) else ():
                places.setdefault(form, {}).setdefault(number, []).append(at)
    for places_of_form in places.values():
        for run in _runs(list(places_of_form)):
            for number in run[1:]:
                found[number].update(places_of_form[number])
    return [
        frozenset(gone if any(line.strip() for at, line in enumerate(lines) if at not in gone) else ())
        for gone, lines in zip(found, texts, strict=True)
    ]


def _forms(line: str, page: int) -> Iterator[str]:
    """What must be equal: the line as it is, and with a number in it told by how far it is from the page's.

    Where that number stands several times, as in "6 of 6", only the first or the last of them may be the page's.
    """
    if not line or len(line) > _LONGEST:
        return
    if sum(map(str.isalpha, line)) >= _FEWEST_LETTERS:
        yield line
    spans: dict[int, list[tuple[int, int]]] = {}
    for number in _NUMBER.finditer(line):
        if (value := _value(number[0])) is not None:
            spans.setdefault(value, []).append(number.span())
    for value, places in spans.items() if len(spans) <= _MOST_NUMBERS else ():
        count = min(len(places), _MOST_TIMES)
        for some in {(0, end) for end in range(1, count + 1)} | {(start, count) for start in range(1, count)}:
            yield _replaced(line, places[slice(*some)], f"\0{value - page}\0")


def _replaced(line: str, spans: Sequence[tuple[int, int]], sign: str) -> str:
    for start, end in reversed(spans):
        line = line[:start] + sign + line[end:]
    return line


def _value(number: str) -> int | None:
    if number.isdecimal():
        return int(number)
    parts = _ROMAN.fullmatch(number.lower())
    if parts is None:
        return None
    digits = [_ROMAN_DIGITS[digit] for digit in number.lower()]
    return sum(-one if one < following else one for one, following in zip(digits, [*digits[1:], 0], strict=True))


def _runs(pages: list[int]) -> Iterator[list[int]]:
    """Those of ascending page numbers that lie close enough to one another, and are enough."""
    start = 0
    for end in range(1, len(pages) + 1):
        if end == len(pages) or pages[end] - pages[end - 1] > _WIDEST_STEP:
            run = pages[start:end]
            start = end
            step = 1 if len({page % 2 for page in run}) > 1 else 2
            if len(run) >= _FEWEST_TIMES and 2 * len(run) > (run[-1] - run[0]) // step + 1:
                yield run
