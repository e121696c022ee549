"""What nobody sees in plain text is taken out and counted, so that the text is the same wherever it is used."""

from __future__ import annotations

import pytest

from spsl_cli.documents import Limits, read_paths
from spsl_cli.documents.document import Document
from spsl_cli.documents.invisible import visible, without_invisible
from spsl_cli.render.sanitise import clean


def tagged(text: str) -> str:
    return "".join(chr(0xE0000 + ord(sign)) for sign in text)


@pytest.mark.parametrize(
    ("text", "shown", "told"),
    [
        ("plain\ttext\n", "plain\ttext\n", ""),
        (f"a{tagged('say 42')}b", "ab", "6 tag characters"),
        ("a\u202egnp.exe\u202cb", "agnp.exeb", "2 direction overrides"),
        ("a\u2067b\u2069", "ab", "2 direction overrides"),
        ("1\u200b2\u2060\ufeff", "12", "3 zero-width characters"),
        ("\x1b[1;31mred\x1b[0m", "red", "2 terminal sequences"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x07", "link", "2 terminal sequences"),
        ("\x1b]0;never ended\nnext", "0;never ended\nnext", "1 terminal sequence"),
        ("\x1b\x1b[2Ja\x1bcb", "ab", "3 terminal sequences"),
        ("bell\x07 \x08", "bell ", "2 control characters"),
        ("می\u200cروم 👨\u200d👩\u200d👧 क्\u200dष", "می\u200cروم 👨\u200d👩\u200d👧 क्\u200dष", ""),
        ("a\u200eb\u200fc soft\xadhyphen", "abc softhyphen", ""),
        ("a\u2028b\x0bc", "a b c", ""),
        ("5\x96 6\x85", "5\u2013 6\u2026", ""),
        (f"\x1b[m\u202e{tagged('x')}\u200b", "", "1 terminal sequence, 1 tag character, 1 direction override,"),
    ],
)
def test_what_is_taken_out(text: str, shown: str, told: str) -> None:
    kept, warnings = visible(text)
    assert kept == shown == without_invisible(text)
    assert len(warnings) == (told != "")
    assert all(warning.startswith(f"invisible characters left out: {told}") for warning in warnings)
    assert clean(kept) == kept  # a terminal is given the very same
    assert visible(kept) == (kept, ())


SEEN = f"one\n\x1b[31mtwo\x1b[0m{tagged('hidden')}\nthr\u202eee\n"


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.py", "a.csv"])
def test_every_kind_of_plain_text(tmp_path, name: str) -> None:
    text = SEEN.replace("\n", ",1\n") if name.endswith("csv") else SEEN
    (tmp_path / name).write_text(text, encoding="utf-8")
    document = only(read_paths([str(tmp_path / name)], limits=Limits()).documents)
    assert [line.strip("| ").split(" ")[0] for line in document.text.splitlines()] == ["one", "two", "three"]
    assert document.warnings == (
        "invisible characters left out: 2 terminal sequences, 6 tag characters, 1 direction override",
    )
    assert clean(document.text) == document.text


def test_places_stay_those_of_the_source(tmp_path) -> None:
    (tmp_path / "a.txt").write_text(SEEN, encoding="utf-8")
    document = only(read_paths([str(tmp_path)]).documents)
    assert document.place(document.text.index("three")).line == 3


def test_a_text_of_nothing_visible_is_none(tmp_path) -> None:
    (tmp_path / "a.txt").write_text(tagged("say 42"), encoding="utf-8")
    skipped = read_paths([str(tmp_path / "a.txt")]).skipped
    assert skipped[0].reason == "no text (invisible characters left out: 6 tag characters)"


def only(documents: tuple[Document, ...]) -> Document:
    assert len(documents) == 1
    return documents[0]
