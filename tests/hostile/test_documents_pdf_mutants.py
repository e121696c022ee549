"""Sound and crafted PDFs with bytes changed at random, through the real processes: 100 each time, 10,000 with -m slow.

A generator with a fixed seed makes them, so that every run has the same files. The long run prints its figures for
docs/promises.md (pytest -m slow -s -k mutants).
"""

from __future__ import annotations

import random
import re
import resource
import sys
import time
from collections import Counter, deque
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from spsl_cli.documents import Limits
from spsl_cli.documents.pdf.job import Job
from spsl_cli.documents.pdf.supervisor import ParserPool
from spsl_cli.documents.source import Source, UnreadableError
from tests.hostile.pdf_attacks import (
    ATTACKS,
    base_objects,
    cmap,
    composite,
    encrypted,
    flate,
    formed,
    object_stream,
    sandwich,
    text,
    with_xref_stream,
)

LIMITS = Limits(page_seconds=10, document_seconds=40, parser_bytes=1 << 30)
CONTROLS = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
KIBIBYTE = 1 << 10
LONGEST_SEED = 6_000
NUMBER = re.compile(rb"\d+")
TOKENS = (b"<<", b">>", b"[", b"]", b"(", b")", b" R", b"obj", b"endobj", b"stream", b"endstream", b"/", b"0", b"null")
EXTREMES = (b"-1", b"0", b"2147483648", b"18446744073709551616", b"1e999", b"9" * 400, b"0.0000001", b"1 0 R")


@cache
def seeds() -> list[bytes]:
    """Sound files of every make the reader knows, then all crafted ones that are small."""
    packed = base_objects() | {
        4: base_objects()[4].replace(b"3 0 R", b"100 0 R"),
        10: object_stream(b"100 0", base_objects()[3], b"/N 1"),
    }
    sound = [
        sandwich(),
        sandwich(objects={9: flate(text(b"Kept."))}),
        sandwich(
            catalog=b"/PageLabels<</Nums[0<</S/r>>1<</S/D/St 4/P(A-)>>]>>/Outlines 10 0 R/AcroForm<</Fields[11 0 R]>>",
            objects={
                10: b"<</Type/Outlines>>",
                11: b"<</Type/Annot/Subtype/Widget/FT/Tx/T(a)/V(Value.)/Rect[9 9 99 29]>>",
            },
            middle=b"/Resources<</Font<</F 3 0 R>>>>/Contents[9 0 R 9 0 R]/Annots[11 0 R]/Rotate 90",
        ),
        composite(
            cmap(b"2 beginbfchar <0041> <0041>\n<0042> <FB01> endbfchar 1 beginbfrange <0050> <0060> <0070> endbfrange")
        ),
        formed(b"/X10 Do q 1 0 0 1 9 9 cm /X11 Do Q", x10=text(b"Form."), x11=b"/X10 Do"),
        with_xref_stream([(2, 10, 0)], packed),
        encrypted("RC4-128"),
        encrypted("AES-256"),
    ]
    return sound * 3 + [data for data in (attack.data() for attack in ATTACKS) if len(data) < LONGEST_SEED]


def mutants(number: int) -> Iterator[bytes]:
    chance, sources = random.Random(20_240_611), seeds()
    for _ in range(number):
        data = bytearray(chance.choice(sources))
        for _ in range(min(chance.randint(1, 12), chance.randint(1, 12))):
            mutate(data, chance, sources)
        yield bytes(data)


def mutate(data: bytearray, chance: random.Random, sources: list[bytes]) -> None:  # noqa: C901 - a list of nine ways
    at = chance.randrange(len(data) + 1)
    length = chance.choice((1, 2, 8, 40, 200))
    match chance.randrange(9):
        case 0:
            data[at : at + 1] = bytes([chance.randrange(256)])
        case 1:
            for index in range(at, min(at + length, len(data))):
                data[index] ^= 1 << chance.randrange(8)
        case 2:
            del data[at : at + length]
        case 3:
            data[at:at] = data[at : at + length] * chance.choice((1, 1, 1, 50))
        case 4:
            other = chance.randrange(len(data) + 1)
            first, second = bytes(data[at : at + length]), bytes(data[other : other + length])
            data[at : at + len(first)] = second
            data[other : other + len(second)] = first
        case 5:
            numbers = list(NUMBER.finditer(data))
            if numbers:
                start, end = chance.choice(numbers).span()
                data[start:end] = chance.choice((*EXTREMES, b"%d" % chance.randrange(15)))
        case 6:
            data[at:at] = chance.choice(TOKENS) * chance.choice((1, 1, 1, 300))
        case 7:
            other = chance.choice(sources)
            start = chance.randrange(len(other))
            data[at : at + length] = other[start : start + length]
        case _:
            if chance.random() < 0.2:
                del data[at:]


def judge(job: Job) -> str:
    """What became of one mutant; an AssertionError if anything is not as promised."""
    try:
        extract = job.extract.result()
    except UnreadableError as error:
        reason = str(error)
        assert reason.strip()
        assert not CONTROLS.search(reason)
        assert "\n" not in reason
        assert "does not start" not in reason
        return "crashed" if "crashes" in reason else "timed out" if "longer than" in reason else "refused"
    assert [page.number for page in extract.pages] == list(range(1, len(extract.pages) + 1))
    told = [warning for page in extract.pages for warning in page.warnings]
    for page in extract.pages:
        page.text.encode()
        assert not CONTROLS.search(page.text)
    for warning in (*told, *extract.warnings):
        assert "\n" not in warning
        assert not CONTROLS.search(warning)
    if any("crash" in warning for warning in told):
        return "crashed"
    if any("longer than" in warning for warning in told):
        return "timed out"
    return "read with a warning" if told or extract.warnings else "read"


def run(number: int) -> str:
    """All of it through two processes; the figures in one line."""
    outcomes: Counter[str] = Counter()
    waiting: deque[Job] = deque()
    longest, peak = 0.0, 0
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begun = time.monotonic()
    with ParserPool(2) as pool:

        def settle() -> None:
            nonlocal longest, peak
            job = waiting.popleft()
            outcomes[judge(job)] += 1
            longest = max(longest, LIMITS.document_seconds - job.seconds_left)
            if sys.platform == "linux":
                peak = max(peak, *(address_space(own) for own in pool._workers))

        for number_of, data in enumerate(mutants(number)):
            waiting.append(pool.submit(Source(f"{number_of}.pdf", data, None, LIMITS)))
            if len(waiting) > 4:
                settle()
        while waiting:
            settle()
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert outcomes.total() == number
    assert outcomes["read"] + outcomes["read with a warning"] > number / 4
    assert longest < LIMITS.document_seconds + LIMITS.page_seconds
    assert peak <= LIMITS.parser_bytes + 2 * LONGEST_SEED * KIBIBYTE
    assert grown < 200 * KIBIBYTE
    return (
        f"{number:,} mutated PDFs in {time.monotonic() - begun:.0f} s: {dict(outcomes.most_common())}; "
        f"longest {longest:.1f} s, largest address space {peak >> 20} MiB, parent grown by {grown >> 10} MiB"
    )


def address_space(own: object) -> int:
    """The largest that the worker's process, if it has one just now, ever had, bytes."""
    process = own._process
    try:
        status = Path(f"/proc/{process._process.pid}/status").read_text(encoding="ascii") if process else ""
    except OSError:
        status = ""
    found = re.search(r"VmPeak:\s+(\d+) kB", status)
    return int(found[1]) * KIBIBYTE if found else 0


def test_a_hundred_mutants_cost_nothing_but_themselves():
    assert run(100).startswith("100 mutated PDFs")


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_ten_thousand_mutants_cost_nothing_but_themselves():
    figures = run(10_000)
    print(figures)  # noqa: T201 - they are what is wanted
    assert figures.startswith("10,000 mutated PDFs")


def test_mutants_are_the_same_every_time():
    assert list(mutants(20)) == list(mutants(20))
    assert len(set(mutants(50))) > 40
