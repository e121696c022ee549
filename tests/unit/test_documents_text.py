"""Plain text, source code and Markdown: encodings, line ends, and what counts as text at all."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from spsl_cli.documents import Collection, Document, Limits, read_paths


def collect(tmp_path: Path, data: bytes, name: str = "file.txt") -> Collection:
    path = tmp_path / name
    path.write_bytes(data)
    return read_paths([str(path)])


def read_one(tmp_path: Path, data: bytes, name: str = "file.txt") -> Document:
    collection = collect(tmp_path, data, name)
    assert collection.skipped == ()
    return collection.documents[0]


def reason(tmp_path: Path, data: bytes, name: str = "file.txt") -> str:
    collection = collect(tmp_path, data, name)
    assert collection.documents == ()
    return collection.skipped[0].reason


def archive(*names: str, mimetype: str | None = None) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        if mimetype:
            file.writestr("mimetype", mimetype)
        for name in names:
            file.writestr(name, "<x/>")
    return out.getvalue()


@pytest.mark.parametrize(
    "codec", ["utf-8", "utf-8-sig", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"], ids=lambda codec: codec
)
def test_byte_order_marks(tmp_path, codec):
    mark = b"" if codec.startswith("utf-8") else "\ufeff".encode(codec)
    document = read_one(tmp_path, mark + "Größe 漢 🌊\r\n".encode(codec))
    assert document.text == "Größe 漢 🌊\n"
    assert document.encoding == codec.removesuffix("-sig")
    assert document.notices == ()


def test_an_accent_late_in_the_file_decides(tmp_path):
    plain = b"The ferry goes at nine.\n" * 20_000
    late_utf8 = read_one(tmp_path, plain + "Crème brûlée".encode())
    assert (late_utf8.text[-12:], late_utf8.encoding) == ("Crème brûlée", "utf-8")
    late_cp1252 = read_one(tmp_path, plain + "Crème brûlée".encode("cp1252"))
    assert (late_cp1252.text[-12:], late_cp1252.encoding) == ("Crème brûlée", "cp1252")


def test_cp1252_is_told_as_an_assumption(tmp_path):
    document = read_one(tmp_path, "„Maß“ für 5 €".encode("cp1252"))
    assert document.text == "„Maß“ für 5 €"
    assert "cp1252" in document.warnings[0]


@pytest.mark.parametrize("byte", [0x81, 0x8D, 0x8F, 0x90, 0x9D])
def test_bytes_undefined_in_cp1252(tmp_path, byte):
    document = read_one(tmp_path, b"caf\xe9 " + bytes([byte]) + b" noir")
    assert document.text == "café \ufffd noir"
    assert document.warnings[1].startswith("1 character unreadable")


def test_utf8_with_little_damage_stays_utf8(tmp_path):
    document = read_one(tmp_path, "Überfälle, Möwen, Krüge, Bögen, Öl, Äcker, Füße".encode() + b" \xff \xc3")
    assert document.text.startswith("Überfälle, Möwen")
    assert document.encoding == "utf-8"
    assert document.warnings == ("2 characters unreadable, shown as U+FFFD",)


@pytest.mark.parametrize(
    "data", [b"\xff\xfea\0\0\xd8b\0", b"\xfe\xff\0a\xd8\0\0b", b"\xff\xfea\0\0\0b\0", b"\xff\xfea\0b\0c"]
)
def test_no_surrogate_and_no_nul_reaches_the_text(tmp_path, data):
    document = read_one(tmp_path, data)
    assert "\ufffd" in document.text
    assert "\0" not in document.text
    document.text.encode()
    assert "unreadable" in document.warnings[0]


def test_line_ends_are_made_one(tmp_path):
    document = read_one(tmp_path, b"one\r\ntwo\rthree\n\r\nfive")
    assert document.text == "one\ntwo\nthree\n\nfive"
    assert document.place(document.text.index("five")).line == 5


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"end\n\x0c\nnext\n", "end\n\nnext\n"),
        (b"end\n\x0cnext\n", "end\nnext\n"),
        (b"end\x0c\nnext\n", "end\nnext\n"),
        (b"end\x0cnext\n", "end\nnext\n"),
        (b"\x0cnext\x0c", "next"),
    ],
)
def test_form_feeds_leave_one_page_and_the_line_numbers_of_an_editor(tmp_path, data, text):
    document = read_one(tmp_path, data)
    assert (document.text, len(document.pages)) == (text, 1)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "empty file"),
        (b" \n\t\r\n ", "no text"),
        (b"\xef\xbb\xbf", "no text"),
        (b"a text with a NUL \0 in it", "binary file (not a kind that spsl reads)"),
        (b"\x01\x02\x03 few letters \x04\x05\x06", "binary file (not a kind that spsl reads)"),
        (b"\x7fELF\x02\x01\x01\0\0", "binary file (not a kind that spsl reads)"),
        (b"{\\rtf1 Hello}", "an RTF document: not supported yet"),
    ],
)
def test_what_holds_no_text(tmp_path, data, expected):
    assert reason(tmp_path, data) == expected


def test_a_nul_at_the_very_end_makes_a_file_binary(tmp_path):
    assert reason(tmp_path, b"words and words\n" * 100_000 + b"\0").startswith("binary")


def test_coloured_logs_are_text(tmp_path):
    assert read_one(tmp_path, b"\x1b[31mred\x1b[0m\n" * 5).characters > 0


@pytest.mark.parametrize(
    ("data", "name", "expected"),
    [
        (archive("ppt/presentation.xml"), "talk.zip", "a PowerPoint presentation (.pptx)"),
        (archive("xl/workbook.xml"), "sheet.zip", "an Excel workbook (.xlsx)"),
        (archive(mimetype="application/vnd.oasis.opendocument.text"), "text", "an OpenDocument text (.odt)"),
        (archive("a.txt"), "bundle.zip", "a zip archive"),
    ],
)
def test_office_kinds_are_named(tmp_path, data, name, expected):
    assert reason(tmp_path, data, name) == f"{expected}: not supported yet"


@pytest.mark.parametrize(
    ("name", "media_type"),
    [("a.md", "text/markdown"), ("A.MARKDOWN", "text/markdown"), ("a.py", "text/plain"), ("README", "text/plain")],
)
def test_media_types(tmp_path, name, media_type):
    document = read_one(tmp_path, b"---\nkey: 1\n---\n# Title\n\n---\ntext\n", name)
    assert document.media_type == media_type
    assert document.text == "---\nkey: 1\n---\n# Title\n\n---\ntext\n"
    assert not document.paged


NOTEBOOK = b'{"nbformat": 4, "cells": [{"cell_type": "markdown", "source": "hi"}]}'


@pytest.mark.parametrize(
    ("data", "name", "media_type", "text"),
    [
        (b"plain words", "page.html", "text/html", "plain words"),
        (b"<!DOCTYPE html><p>x", "page.txt", "text/html", "x"),
        (b"\n<HTML lang=de>y", "x", "text/html", "y"),
        (b"From: a@b.c\n\nHi", "letter.eml", "message/rfc822", "From: a@b.c\n\nHi"),
        (b"a,b\n1,2\n", "t.csv", "text/csv", "| a | b |\n| 1 | 2 |"),
        (NOTEBOOK, "n", "application/x-ipynb+json", "hi"),
    ],
)
def test_every_kind_of_text_has_its_reader(tmp_path, data, name, media_type, text):
    document = read_one(tmp_path, data, name)
    assert (document.media_type, document.text.strip()) == (media_type, text)


def test_archives_of_kinds_that_are_read(tmp_path):
    """Known by their content; these hold no document, so the reason says what is missing."""
    assert "Word" in reason(tmp_path, archive("[Content_Types].xml", "word/document.xml"), "letter")
    assert "EPUB" in reason(tmp_path, archive(mimetype="application/epub+zip"), "book")
    assert "Word" in reason(tmp_path, archive("xl/workbook.xml"), "sheet.docx")


def test_a_web_page_called_pdf_is_refused(tmp_path):
    assert "HTML" in reason(tmp_path, b"<!doctype html>\n<title>Log in</title>", "report.pdf")


def test_plain_text_called_pdf_is_read_and_told(tmp_path):
    document = read_one(tmp_path, b"404 not found", "report.pdf")
    assert (document.text, document.media_type) == ("404 not found", "text/plain")
    assert "not a PDF" in document.warnings[0]


def test_a_program_that_mentions_the_pdf_header_is_text(tmp_path):
    document = read_one(tmp_path, b'HEADER = b"%PDF-1.7"\nprint(HEADER)\n', "make.py")
    assert document.media_type == "text/plain"


def test_a_text_over_the_limit_is_skipped_not_cut(tmp_path):
    path = tmp_path / "long.txt"
    path.write_bytes(b"x" * 101)
    collection = read_paths([str(path)], limits=Limits(document_characters=100))
    assert collection.documents == ()
    assert collection.skipped[0].reason == "101 characters of text, more than the limit of 100"
