"""PDF: text, page numbers and labels, broken words, encryption, and what is said about pages without text."""

from __future__ import annotations

import io
import logging
from pathlib import Path

import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.t2CharStringPen import T2CharStringPen
from pypdf import PdfReader, PdfWriter

from spsl_cli.documents import Document, read_paths
from spsl_cli.documents.limits import Limits
from spsl_cli.documents.pdf.glyphs import readable
from spsl_cli.documents.pdf.hyphens import join
from spsl_cli.documents.pdf.log import captured

FONT = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>"
BLANK = b""


def make_pdf(*contents: bytes, kids: str | None = None, font: bytes = FONT, more: tuple[bytes, ...] = ()) -> bytes:
    """A PDF with a page for each content stream. Objects: catalog, page tree, font, `more`, then pages with streams."""
    first = 4 + len(more)
    numbers = range(first, first + 2 * len(contents), 2)
    kids = kids if kids is not None else " ".join(f"{number} 0 R" for number in numbers)
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Count {len(kids.split()) // 3}/Kids[{kids}]/MediaBox[0 0 600 800]>>".encode(),
        font,
        *more,
    ]
    for number, content in zip(numbers, contents, strict=True):
        objects += [
            b"<</Type/Page/Parent 2 0 R/Resources<</Font<</F 3 0 R>>>>/Contents %d 0 R>>" % (number + 1),
            b"<</Length %d>>stream\n%s\nendstream" % (len(content), content),
        ]
    out, offsets = b"%PDF-1.7\n", []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    table += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    tail = b"trailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, len(out))
    return out + table + tail


def lines(*texts: str) -> bytes:
    """A content stream that shows each text on a line of its own."""
    shown = [b"(%s) Tj 0 -20 Td" % text.encode("cp1252") for text in texts]
    return b"BT /F 12 Tf 50 700 Td %s ET" % b" ".join(shown)


def unicode_font(codes: dict[int, bytes]) -> tuple[bytes, tuple[bytes, ...]]:
    """A font (and what it refers to) whose character codes mean just what `codes` says, as UTF-16 of any quality."""
    entries = b"\n".join(b"<%04X> <%s>" % (code, meaning.hex().encode()) for code, meaning in codes.items())
    cmap = b"begincmap\n1 begincodespacerange\n<0000> <FFFF>\nendcodespacerange\n"
    cmap += b"%d beginbfchar\n%s\nendbfchar\nendcmap\n" % (len(codes), entries)
    font = b"<</Type/Font/Subtype/Type0/BaseFont/X/Encoding/Identity-H/DescendantFonts[4 0 R]/ToUnicode 5 0 R>>"
    below = b"<</Type/Font/Subtype/CIDFontType2/BaseFont/X/DW 500>>"
    return font, (below, b"<</Length %d>>stream\n%s\nendstream" % (len(cmap), cmap))


def glyphs(*meanings: str | bytes) -> bytes:
    """A PDF of one line made of these glyphs, each meaning a text or the given bytes of UTF-16."""
    encoded = [m.encode("utf-16-be") if isinstance(m, str) else m for m in meanings]
    font, more = unicode_font(dict(enumerate(encoded, 1)))
    shown = b"".join(b"%04X" % code for code in range(1, len(encoded) + 1))
    return make_pdf(b"BT /F 12 Tf 50 700 Td <%s> Tj ET" % shown, font=font, more=more)


def read_one(tmp_path: Path, data: bytes, *, key: str | None = None, limits: Limits | None = None) -> Document:
    path = tmp_path / "file.pdf"
    path.write_bytes(data)
    collection = read_paths([str(path)], password=key, limits=limits)
    assert collection.skipped == ()
    return collection.documents[0]


def reason(tmp_path: Path, data: bytes, *, key: str | None = None, limits: Limits | None = None) -> str:
    path = tmp_path / "file.pdf"
    path.write_bytes(data)
    collection = read_paths([str(path)], password=key, limits=limits)
    assert collection.documents == ()
    return collection.skipped[0].reason


def rewritten(data: bytes, change) -> bytes:
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(data)))
    change(writer)
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def test_pages_keep_number_and_text(tmp_path):
    document = read_one(tmp_path, make_pdf(lines("The kiln was lit.", "It burned."), lines("The kiln went out.")))
    assert [(p.number, p.label, p.text) for p in document.pages] == [
        (1, None, "The kiln was lit.\nIt burned."),
        (2, None, "The kiln went out."),
    ]
    assert (document.media_type, document.encoding, document.notices) == ("application/pdf", None, ())
    place = document.place(document.text.index("burned"))
    assert (place.page, place.line) == (1, 2)
    assert document.place(document.text.index("went")).page == 2


def test_printed_labels_where_they_differ(tmp_path):
    data = make_pdf(lines("Preface"), lines("One"), lines("Two"))

    def label(writer):
        writer.set_page_label(0, 0, style="/r")
        writer.set_page_label(1, 2, style="/D")

    document = read_one(tmp_path, rewritten(data, label))
    assert [p.label for p in document.pages] == ["i", "1", "2"]
    assert document.place(document.text.index("Two")).label == "2"


def test_labels_that_say_nothing_new_are_left_out(tmp_path):
    data = rewritten(make_pdf(lines("One"), lines("Two")), lambda w: w.set_page_label(0, 1, style="/D"))
    assert [p.label for p in read_one(tmp_path, data).pages] == [None, None]


@pytest.mark.parametrize(
    ("ligature", "letters"),
    [("\ufb00", "ff"), ("\ufb01", "fi"), ("\ufb02", "fl"), ("\ufb03", "ffi"), ("\ufb04", "ffl"), ("\ufb06", "st")],
)
def test_ligatures_become_letters(tmp_path, ligature, letters):
    assert read_one(tmp_path, glyphs("o", ligature, "a")).text == f"o{letters}a"


def test_surrogate_halves(tmp_path):
    whole = read_one(tmp_path, glyphs("a ", b"\xd8\x3c", b"\xdf\x0a", " b"))
    assert whole.text == "a \U0001f30a b"
    assert whole.notices == ()
    half = read_one(tmp_path, glyphs("a ", b"\xd8\x3c", " b"))
    assert half.text == "a \ufffd b"
    assert half.pages[0].warnings == ("1 character without a known meaning, shown as U+FFFD",)


@pytest.mark.parametrize("meaning", [b"\0\0", b"\0\x01", b"\xff\xfe", b"\xff\xff", b"\0\x9b"])
def test_signs_without_meaning_are_replaced_and_told(tmp_path, meaning):
    document = read_one(tmp_path, glyphs("ac", meaning, "on"))
    assert document.text == "ac\ufffdon"
    assert "1 character" in document.notices[0]


def test_a_form_feed_never_separates_pages_by_itself(tmp_path):
    document = read_one(tmp_path, glyphs("ab", b"\0\x0c", "cd"))
    assert document.text == "ab cd"


def test_words_broken_over_lines_are_joined_and_lines_stay_right(tmp_path):
    document = read_one(tmp_path, make_pdf(lines("The deposit is re-", "turned, unless spent.", "Then it is not.")))
    assert document.text == "The deposit is returned,\nunless spent.\nThen it is not."
    assert document.place(document.text.index("Then")).line == 3


def test_a_hyphen_that_the_document_spells_elsewhere_stays(tmp_path):
    pages = lines("A salt-free diet is long."), lines("He chose the salt-", "free one.")
    assert "the salt-free\none." in read_one(tmp_path, make_pdf(*pages)).text


def test_two_known_words_keep_their_hyphen(tmp_path):
    pages = lines("A tide and a mill."), lines("The old tide-", "mill stood.")
    assert "tide-mill\nstood" in read_one(tmp_path, make_pdf(*pages)).text


@pytest.mark.parametrize(
    "texts", [("pages 12-", "14 are lost"), ("Mr Smith-", "Jones came"), ("a dash -", "not a hyphen")]
)
def test_what_is_no_broken_word_is_left_alone(tmp_path, texts):
    assert read_one(tmp_path, make_pdf(lines(*texts))).text == "\n".join(texts)


@pytest.mark.parametrize("hyphen", ["\u00ad", "\u0002", "\u2010", "\ufffe"])
def test_nameless_hyphens_at_a_lines_end(hyphen):
    clean = readable(f"per{hyphen}\nmitted only")
    assert (join(clean.text, frozenset()), clean.unknown) == ("permitted\nonly", 0)


def test_soft_hyphens_within_a_line_vanish():
    assert readable("per\u00admitted").text == "permitted"


def test_a_page_without_text_is_told(tmp_path):
    document = read_one(tmp_path, make_pdf(lines("One"), BLANK, BLANK, lines("Four"), BLANK))
    assert [p.number for p in document.pages] == [1, 2, 3, 4, 5]
    assert document.pages[1].warnings == ("no text (image only?)",)
    assert document.notices == ("pages 2-3, 5: no text (image only?)",)


def test_a_pdf_without_any_text_is_skipped(tmp_path):
    assert reason(tmp_path, make_pdf(BLANK, BLANK)) == "no text in 2 pages (scanned? OCR is not part of spsl)"


@pytest.mark.parametrize("algorithm", ["RC4-40", "RC4-128", "AES-128", "AES-256-R5", "AES-256"])
def test_encryption(tmp_path, algorithm):
    plain = make_pdf(lines("The vault is empty."))
    locked = rewritten(plain, lambda w: w.encrypt("bronze", "owner", algorithm=algorithm))
    assert reason(tmp_path, locked) == "encrypted PDF; give the password with --password"
    assert "does not open it" in reason(tmp_path, locked, key="silver")
    assert read_one(tmp_path, locked, key="bronze").text == "The vault is empty."
    assert read_one(tmp_path, locked, key="owner").text == "The vault is empty."
    restricted = rewritten(plain, lambda w: w.encrypt("", "owner", algorithm=algorithm))
    assert read_one(tmp_path, restricted).text == "The vault is empty."
    assert read_one(tmp_path, restricted, key="unneeded").text == "The vault is empty."


def test_a_password_for_an_open_file_is_ignored(tmp_path):
    assert read_one(tmp_path, make_pdf(lines("Open.")), key="unneeded").text == "Open."


def test_limits_are_told(tmp_path):
    data = make_pdf(lines("One"), lines("T" * 50), lines("Three"))
    assert reason(tmp_path, data, limits=Limits(pages=2)) == "3 pages, more than the limit of 2"
    document = read_one(tmp_path, data, limits=Limits(page_characters=10))
    assert [p.text for p in document.pages] == ["One", "", "Three"]
    assert document.pages[1].warnings == ("could not be read: 50 characters, more than the limit of 10",)
    assert "more than the limit of 20" in reason(tmp_path, data, limits=Limits(document_characters=20))


def test_pypdf_says_nothing_on_stderr_and_its_logger_is_left_as_it_was(tmp_path, capfd):
    logger = logging.getLogger("pypdf")
    before = logger.handlers[:], logger.propagate, logger.level
    data = make_pdf(lines("Sound."))
    damaged = data.replace(b"startxref\n", b"startxref\n7", 1)
    document = read_one(tmp_path, damaged)
    assert document.text == "Sound."
    assert any(notice.startswith("pypdf: ") for notice in document.warnings)
    assert capfd.readouterr() == ("", "")
    assert (logger.handlers, logger.propagate, logger.level) == before


def test_messages_are_told_once_and_capped():
    with captured() as messages:
        for number in (1, 1, 2, 3, 4, 5, 5):
            logging.getLogger("pypdf._reader").warning("object %d in {%s}", number, "x" * 500)
        taken = messages.take()
        assert messages.take() == ()
    assert taken == ("pypdf: object 1 in", "pypdf: object 2 in", "pypdf: object 3 in", "pypdf: 3 more remarks")


def cff_program(codes: dict[int, str]) -> bytes:
    """A font program of the kind CFF with an encoding of its own, for glyphs of these names."""
    order = [".notdef", *codes.values()]
    builder = FontBuilder(1000, isTTF=False)
    builder.setupGlyphOrder(order)
    pen = T2CharStringPen(500, None)
    pen.moveTo((0, 0))
    pen.lineTo((400, 0))
    pen.lineTo((400, 50))
    pen.closePath()
    builder.setupCFF("Signs", {}, dict.fromkeys(order, pen.getCharString()), {})
    fonts = builder.font["CFF "].cff
    fonts[0].Encoding = [codes.get(code, ".notdef") for code in range(256)]
    out = io.BytesIO()
    fonts.compile(out, builder.font, isCFF2=False)
    return out.getvalue()


@pytest.mark.parametrize("codes", [{0: "minus", 2: "multiply"}, {0: "minus", 1: "multiply", 2: "plusminus"}])
def test_the_first_code_of_an_embedded_font_has_its_meaning(tmp_path, codes):
    """TeX's minus sign; in the second font the codes are given as a range."""
    program = cff_program(codes)
    font = (
        b"<</Type/Font/Subtype/Type1/BaseFont/Signs/FirstChar 0/LastChar 2/Widths[777 777 777]/FontDescriptor 4 0 R>>"
    )
    more = (
        b"<</Type/FontDescriptor/FontName/Signs/Flags 4/FontFile3 5 0 R>>",
        b"<</Subtype/Type1C/Length %d>>stream\n%s\nendstream" % (len(program), program),
    )
    meant = {"minus": "\u2212", "multiply": "\u00d7", "plusminus": "\u00b1"}
    data = make_pdf(b"BT /F 12 Tf 50 700 Td <000002> Tj ET", font=font, more=more)
    document = read_one(tmp_path, data)
    assert document.text.replace(" ", "") == 2 * meant[codes[0]] + meant[codes[2]]
    assert document.notices == ()


def test_a_damaged_font_program_costs_one_character(tmp_path):
    program = cff_program({0: "minus", 2: "multiply"})[:40]
    font = (
        b"<</Type/Font/Subtype/Type1/BaseFont/Signs/FirstChar 0/LastChar 2/Widths[777 777 777]/FontDescriptor 4 0 R>>"
    )
    more = (
        b"<</Type/FontDescriptor/FontName/Signs/Flags 4/FontFile3 5 0 R>>",
        b"<</Subtype/Type1C/Length %d>>stream\n%s\nendstream" % (len(program), program),
    )
    data = make_pdf(b"BT /F 12 Tf 50 700 Td <4100> Tj ET", font=font, more=more)
    assert read_one(tmp_path, data).text.startswith("A")
