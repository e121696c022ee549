"""Archives and XML made to do harm: each costs its own file only, a bounded effort, and says why."""

from __future__ import annotations

import io
import random
import struct
import zipfile
import zlib

import pytest

from spsl_cli.documents import docx, epub, html
from spsl_cli.documents.archive import Archive
from spsl_cli.documents.limits import Limits
from spsl_cli.documents.markup import xml
from spsl_cli.documents.source import Source, UnreadableError

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
DOCUMENT = f"<w:document {W}><w:body><w:p><w:r><w:t>text</w:t></w:r></w:p></w:body></w:document>"
OPF = (
    '<package xmlns="http://www.idpf.org/2007/opf"><manifest><item id="a" href="a.xhtml"'
    ' media-type="application/xhtml+xml"/></manifest><spine><itemref idref="a"/></spine></package>'
)


def packed(members: list[tuple[str, bytes]], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as out:
        for name, content in members:
            out.writestr(name, content)
    return file.getvalue()


def opened(data: bytes, **limits: int) -> Archive:
    return Archive(data, Limits(**limits))


def word(document: str | bytes = DOCUMENT, *more: tuple[str, bytes]) -> bytes:
    return packed([("word/document.xml", document.encode() if isinstance(document, str) else document), *more])


def read_word(data: bytes, **limits: int) -> str:
    return docx.read(Source("a.docx", data, limits=Limits(**limits))).pages[0].text


def test_a_bomb_is_stopped_while_it_unpacks() -> None:
    data = packed([("big", bytes(30 << 20)), ("small", b"x")])
    assert len(data) < 100_000
    archive = opened(data, archive_bytes=10 << 20)
    with pytest.raises(UnreadableError, match="unpacks to more than the limit of 10,485,760 bytes"):
        archive.read("big")


def test_many_members_count_together_and_repeated_reading_counts_too() -> None:
    archive = opened(packed([(f"m{i}", bytes(1000)) for i in range(3)]), archive_bytes=2_500)
    assert len(archive.read("m0")) == len(archive.read("m1")) == 1_000
    with pytest.raises(UnreadableError, match="unpacks to more"):
        archive.read("m0")


def test_stated_sizes_are_not_believed() -> None:
    data = bytearray(packed([("big", bytes(1 << 20))]))
    for sign, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        at = data.index(sign) + offset
        data[at : at + 4] = struct.pack("<I", 10)
    with pytest.raises(UnreadableError, match="damaged"):
        opened(bytes(data)).read("big")


def test_a_bomb_in_a_document_costs_that_document() -> None:
    bomb = b"<w:document>" + b" " * (8 << 20)
    with pytest.raises(UnreadableError, match="unpacks to more than the limit"):
        read_word(word(bomb), archive_bytes=1 << 20)
    chapters = packed([("mimetype", b"application/epub+zip"), ("x.opf", OPF.encode()), ("a.xhtml", bytes(8 << 20))])
    with pytest.raises(UnreadableError, match=r"a.xhtml: left out: unpacks to more than the limit"):
        epub.read(Source("a.epub", chapters, limits=Limits(archive_bytes=1 << 20)))


def test_archives_inside_archives_stay_closed() -> None:
    inner = packed([("bomb", bytes(50 << 20))])
    for _ in range(3):
        inner = packed([("word/embeddings/inner.docx", inner)])
    data = word(DOCUMENT, ("word/embeddings/inner.docx", inner))
    assert read_word(data, archive_bytes=1 << 20) == "text"


def test_too_many_members() -> None:
    data = packed([(str(i), b"") for i in range(300)])
    with pytest.raises(UnreadableError, match="more than the limit of 100 members"):
        opened(data, archive_members=100)
    with pytest.raises(UnreadableError, match="300 members, more than the limit of 200"):
        opened(data, archive_members=200)
    assert len(list(opened(data, archive_members=300))) == 300


def test_overlapping_members_are_refused() -> None:
    kernel = zlib.compress(bytes(1 << 20), 9)[2:-4]
    local = struct.pack("<4s5H3I2H", b"PK\x03\x04", 20, 0, 8, 0, 0, 0, len(kernel), 1 << 20, 1, 0) + b"a" + kernel
    central = b"".join(
        struct.pack("<4s6H3I5H2I", b"PK\x01\x02", 20, 20, 0, 8, 0, 0, 0, len(kernel), 1 << 20, 1, 0, 0, 0, 0, 0, 0)
        + bytes([97 + i])
        for i in range(5)
    )
    end = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, 5, 5, len(central), len(local), 0)
    with pytest.raises(UnreadableError, match="its members overlap"):
        opened(local + central + end)


def test_names_lead_nowhere() -> None:
    members = [
        ("../../etc/passwd", b"1"),
        ("/absolute", b"2"),
        ("C:\\x", b"3"),
        ("a\x1b[31m", b"4"),
        ("word/../x", b"5"),
    ]
    archive = opened(packed(members))
    assert archive.read("../../etc/passwd") == b"1"
    assert archive.read("absolute") == b"2"
    assert archive.find("etc/passwd") is None
    assert archive.find("x") is None
    with pytest.raises(UnreadableError) as caught:
        archive.read("no\x1b[31m\n" + "x" * 500)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 100


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_of_two_members_with_one_name_the_last_is_read_and_this_is_told() -> None:
    other = DOCUMENT.replace("text", "other")
    extract = docx.read(Source("a.docx", word(DOCUMENT, ("word/document.xml", other.encode()))))
    assert extract.pages[0].text == "other"
    assert extract.warnings == ("the archive holds word/document.xml twice: the last one is read",)


def test_upper_and_lower_case_are_told_apart_where_both_are_there() -> None:
    archive = opened(packed([("A", b"1"), ("a", b"2"), ("Only", b"3")]))
    assert (archive.read("A"), archive.read("a"), archive.read("ONLY")) == (b"1", b"2", b"3")


def test_encrypted_members_are_refused_by_name() -> None:
    data = bytearray(word())
    for sign, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(sign) + offset] |= 1
    assert opened(bytes(data)).is_encrypted("word/document.xml")
    with pytest.raises(UnreadableError, match=r"word/document.xml is encrypted"):
        read_word(bytes(data))


def test_a_wrong_checksum_is_damage() -> None:
    data = bytearray(packed([("a", b"some content")], zipfile.ZIP_STORED))
    data[data.index(b"some content")] ^= 1
    with pytest.raises(UnreadableError, match="a is damaged: Bad CRC-32"):
        opened(bytes(data)).read("a")


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_methods_that_no_document_uses_are_refused(method: int) -> None:
    with pytest.raises(UnreadableError, match="compressed by a method that is not supported"):
        opened(packed([("a", b"content")], method)).read("a")


def test_truncated_archives_are_refused_wherever_they_end() -> None:
    data = word(DOCUMENT, ("word/styles.xml", bytes(2_000)))
    for end in range(0, len(data) - 1, 7):
        with pytest.raises(UnreadableError, match="damaged"):
            read_word(data[:end])


def test_data_before_and_after_the_archive_does_no_harm() -> None:
    assert read_word(b"PK\x03\x04 stub " * 3 + word() + b"trailing") == "text"


LAUGHS = (
    "<!DOCTYPE d [<!ENTITY a0 'lol'>" + "".join(f"<!ENTITY a{i} '{f'&a{i - 1};' * 10}'>" for i in range(1, 12)) + "]>"
)


@pytest.mark.parametrize("place", ["<d>&a11;</d>", "<d x='&a11;'/>"])
def test_entities_that_unfold_without_end(place: str) -> None:
    with pytest.raises(UnreadableError, match="declares a document type"):
        read_word(word(LAUGHS + place))
    data = packed([("mimetype", b"application/epub+zip"), ("x.opf", (LAUGHS + place).encode()), ("a.xhtml", b"<p>x")])
    assert epub.read(Source("a.epub", data)).pages[0].text == "x"
    page = LAUGHS + "<html><body>" + place.replace("<d", "<p").replace("</d>", "</p>") + "after</body></html>"
    assert html.plain(page, limits=Limits()).endswith("after")


def test_external_entities_are_not_opened() -> None:
    outside = "<!DOCTYPE d [<!ENTITY x SYSTEM 'file:///etc/hostname'><!ENTITY % p SYSTEM 'http://127.0.0.1:9/x'>%p;]>"
    with pytest.raises(UnreadableError, match="declares a document type"):
        read_word(word(outside + "<d>&x;</d>"))
    root = xml.tree((outside.replace("%p;", "") + "<d>a&x;b</d>").encode(), "x")
    assert "".join(root.itertext()).replace("&x;", "") == "ab"
    chapter = outside + "<html><body><p>a&x;b</p></body></html>"
    assert html.plain(chapter, limits=Limits()) == "a&x;b"


def test_xml_nested_too_deep_is_refused() -> None:
    deep = b"<a>" * 5_000 + b"</a>" * 5_000

    class Nothing:
        def start(self, tag: str, attributes: object) -> None: ...
        def end(self, tag: str) -> None: ...
        def data(self, text: str) -> None: ...

    with pytest.raises(UnreadableError, match="x is nested deeper than the limit of 1,000"):
        xml.send(deep, Nothing(), name="x", limits=Limits())
    with pytest.raises(UnreadableError):
        xml.tree(deep, "x")


SLOW = {
    "comments": "<!--" * 200_000,
    "angles": "<" * 200_000,
    "ampersands": "&" * 200_000,
    "quotes": '<a b="' * 100_000,
    "cdata": "<![CDATA[" * 100_000,
    "attributes": "<p x " * 100_000,
    "many attributes": "<a " + " b=1" * 200_000 + ">x",
    "style": '<p style="' + "display:" * 100_000 + '">x',
    "items": "<li>" * 50_000,
    "raised": "<sup>" * 50_000 + "x" * 500_000,
    "struck": "<del>" * 50_000 + "x" * 500_000,
    "unclosed": "<font><p>x</p>" * 20_000,
    "tables": "<table>" * 900 + "x" * 100_000,
    "types": "<!doctype a [" * 50_000,
    "entities": "&lt" * 200_000,
}


@pytest.mark.parametrize("name", SLOW)
def test_markup_that_is_slow_for_careless_readers(name: str) -> None:
    text = html.plain('<?xml version="1.0"?>' + SLOW[name], limits=Limits())
    named = name == "attributes"  # there every x is one, and nothing is text
    assert text.count("x") == (0 if named else SLOW[name].count("x"))


def test_mutated_documents_never_fail_in_another_way() -> None:
    """Bytes changed inside the packed document's XML, and in the archive around it."""
    random.seed(5)
    body = (
        f"<w:document {W}><w:body><w:p><w:pPr><w:numPr><w:ilvl w:val='1'/><w:numId w:val='2'/></w:numPr></w:pPr><w:r>"
        "<w:rPr><w:strike/></w:rPr><w:t>one</w:t><w:fldChar w:fldCharType='begin'/></w:r></w:p><w:tbl><w:tr><w:tc>"
        "<w:tcPr><w:gridSpan w:val='2'/><w:vMerge/></w:tcPr><w:p/></w:tc></w:tr></w:tbl>"
        "<w:sectPr/></w:body></w:document>"
    ).encode()
    tags = [
        b"<w:p>",
        b"</w:p>",
        b"<w:tc>",
        b"</w:tbl>",
        b"<w:tbl>",
        b"<w:r>",
        b"9" * 30,
        b"<w:txbxContent>",
        b"-1",
        b"\xff",
    ]
    outcomes = {"read": 0, "refused": 0}
    for round_number in range(500):
        xml_bytes = bytearray(body)
        for _ in range(random.randint(1, 4)):
            at = random.randrange(len(xml_bytes))
            xml_bytes[at : at + random.randint(0, 6)] = random.choice(tags)
        data = bytearray(word(bytes(xml_bytes)))
        if round_number % 3 == 0:
            data[random.randrange(len(data))] ^= 1 << random.randrange(8)
        try:
            source = Source("a.docx", bytes(data))
            docx.matches(source)
            docx.read(source)
            outcomes["read"] += 1
        except UnreadableError:
            outcomes["refused"] += 1
    assert min(outcomes.values()) > 0


def test_mutated_books_never_fail_in_another_way() -> None:
    random.seed(6)
    chapter = b"<html><body><table><tr><td colspan=2>x<li>y<dd>z</table><pre>a\n</pre><sup>2</sup></body></html>"
    members = [("mimetype", b"application/epub+zip"), ("x.opf", OPF.encode()), ("a.xhtml", chapter)]
    outcomes = {"read": 0, "refused": 0}
    for _ in range(500):
        changed = [(name, bytearray(content)) for name, content in members]
        for _, content in changed:
            if random.random() < 0.7:
                at = random.randrange(len(content))
                content[at : at + random.randint(0, 9)] = random.choice(
                    [b"<", b'"', b"</td>", b"&#x", b"<td>", b"\xc3", b"%"]
                )
        data = bytearray(packed([(name, bytes(content)) for name, content in changed]))
        if random.random() < 0.3:
            data[random.randrange(len(data))] ^= 1 << random.randrange(8)
        try:
            source = Source("a.epub", bytes(data))
            epub.matches(source)
            epub.read(source)
            outcomes["read"] += 1
        except UnreadableError:
            outcomes["refused"] += 1
    assert min(outcomes.values()) > 0


def test_what_takes_too_long_is_stopped() -> None:
    slow = Limits(document_seconds=0.0)
    with pytest.raises(UnreadableError, match="takes longer to read than the limit of 0 seconds"):
        html.plain("<p>x" * 100_000, limits=slow)
    with pytest.raises(UnreadableError, match="takes longer to read"):
        docx.read(Source("a.docx", word(), limits=slow))


def test_large_parts_are_read_whole() -> None:
    """The parser takes no more than ten million bytes in one piece."""
    filler = ("<w:p/>" + " " * 10_000) * 1_100
    body = f"<w:document {W}><w:body>{filler}<w:p><w:r><w:t>end</w:t></w:r></w:p></w:body></w:document>"
    assert len(body) > 10_000_000
    assert read_word(word(body)) == "end"
    assert len(read_word(word(DOCUMENT.replace("text", "x" * 12_000_000)))) == 12_000_000
