"""Every crafted file of pdf_attacks.py, and sound files cut off or locked in many ways, through the real process.

What must hold for each: the outcome in the list; reasons and warnings in words, on one line; text without controls; no
memory beyond the limit, neither in the process that parses nor here; and the next file read as if nothing had been.
"""

from __future__ import annotations

import re
import resource
import sys
import time
from pathlib import Path

import pytest

from spsl_cli.documents import Limits
from spsl_cli.documents.pdf.supervisor import ParserPool
from spsl_cli.documents.source import Extract, Source, UnreadableError
from tests.hostile.pdf_attacks import ATTACKS, encrypted, sandwich

LIMITS = Limits(page_seconds=15, document_seconds=120, parser_bytes=1 << 30)
CONTROLS = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="/proc tells the figures")
KIBIBYTE = 1 << 10


@pytest.fixture(scope="module")
def pool():
    with ParserPool(1) as shared:
        yield shared


def read(pool: ParserPool, data: bytes, key: str | None = None) -> Extract | str:
    """What becomes of the file, checked for what holds for all; a reason as a string."""
    job = pool.submit(Source("a.pdf", data, key, LIMITS))
    begun = time.monotonic()
    try:
        extract = job.extract.result()
    except UnreadableError as error:
        extract = str(error)
    assert time.monotonic() - begun < LIMITS.document_seconds + 60
    told = [extract] if isinstance(extract, str) else list(extract.warnings)
    if not isinstance(extract, str):
        assert [page.number for page in extract.pages] == list(range(1, len(extract.pages) + 1))
        for page in extract.pages:
            page.text.encode()
            assert not CONTROLS.search(page.text)
            assert len(page.text) <= LIMITS.page_characters
            assert page.label is None or len(page.label) <= 40
            told += page.warnings
    for text in told:
        assert text.strip()
        assert not CONTROLS.search(text)
        assert "\n" not in text
        assert len(text) <= 400
        assert "does not start" not in text
    return extract


def outcome(found: Extract | str) -> set[str]:
    """Every name in the list of outcomes that fits what was found."""
    if isinstance(found, str):
        return {"file", "any"}
    texts = [page.text for page in found.pages]
    names = {"any"}
    if len(texts) == 3 and texts[0] == "Before." and texts[2] == "After.":
        names.add("sound")
        if found.pages[1].warnings:
            names.add("page")
        if "Kept." in texts[1]:
            names.add("read")
    return names


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: f"{attack.number}-{attack.what.replace(' ', '-')}")
def test_attack(pool, attack):
    data = attack.data()
    assert len(data) < 5 << 20
    found = read(pool, data)
    assert attack.outcome in outcome(found), found
    if sys.platform == "linux":
        assert peak(pool) <= LIMITS.parser_bytes + len(data)
    assert outcome(read(pool, sandwich())) >= {"read", "sound"}


def peak(pool: ParserPool) -> int:
    """The largest address space that the running process ever had, bytes."""
    (own,) = pool._workers
    status = Path(f"/proc/{own._process._process.pid}/status").read_text(encoding="ascii")
    return int(re.search(r"VmPeak:\s+(\d+) kB", status)[1]) * KIBIBYTE


def test_the_attacks_are_numbered_and_many():
    assert [attack.number for attack in ATTACKS] == list(range(1, len(ATTACKS) + 1))
    assert len(ATTACKS) >= 30
    assert len({attack.what for attack in ATTACKS}) == len(ATTACKS)


@LINUX
def test_what_a_file_unpacks_to_is_never_held_here(pool):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for attack in ATTACKS:
        if attack.what.startswith(("Flate", "LZW")):
            job = pool.submit(Source("a.pdf", attack.data(), None, LIMITS))
            job.extract.exception()
    # Making the files takes some here too.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 600 * KIBIBYTE


def test_files_cut_off_anywhere(pool):
    """A sound file ended after every 29th byte: what is read of it is right, what is lost is told."""
    data = sandwich()
    kept = 0
    for end in range(0, len(data), 29):
        found = read(pool, data[:end])
        if isinstance(found, str):
            continue
        texts = [page.text for page in found.pages]
        assert set(texts) <= {"Before.", "Kept.", "After.", ""}
        kept += "Before." in texts
        # Behind the table only the trailer's tail can be cut without loss.
        if texts != ["Before.", "Kept.", "After."]:
            assert found.warnings or any(page.warnings for page in found.pages)
    assert kept > 5


@pytest.mark.parametrize("algorithm", ["RC4-40", "RC4-128", "AES-128", "AES-256-R5", "AES-256"])
def test_locked_files_open_with_their_password_and_with_no_other(pool, algorithm):
    data = encrypted(algorithm)
    assert "read" in outcome(read(pool, data, "bronze"))
    assert "read" in outcome(read(pool, data, "owner"))
    for key in ("", "silver", "x" * 5000, "b\0ronze"):
        assert "--password" in read(pool, data, key)


@LINUX
def test_no_file_is_written(pool, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    read(pool, sandwich())
    assert list(tmp_path.iterdir()) == []
