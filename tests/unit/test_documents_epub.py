"""EPUB books made in memory: chapters in reading order, by whatever paths; what is missing or locked is named."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence

import pytest

from spsl_cli.documents import epub
from spsl_cli.documents.limits import Limits
from spsl_cli.documents.source import Extract, Source, UnreadableError

PAGE = '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title>Book</title></head><body>{}</body></html>'
CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="{}" media-type="application/oebps-package+xml"/></rootfiles></container>'
)
METADATA = "<dc:title>Tides</dc:title><dc:creator>A. Berg</dc:creator><dc:creator>B. Dal</dc:creator>"


def package(items: str, spine: str, metadata: str = METADATA) -> str:
    return (
        '<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<metadata>{metadata}</metadata><manifest>{items}</manifest><spine>{spine}</spine></package>"
    )


def item(identifier: str, href: str, kind: str = "application/xhtml+xml", more: str = "") -> str:
    return f'<item id="{identifier}" href="{href}" media-type="{kind}" {more}/>'


def spine(*identifiers: str) -> str:
    return "".join(f'<itemref idref="{identifier}"/>' for identifier in identifiers)


def archive(members: Sequence[tuple[str, str | bytes]]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as out:
        for name, content in members:
            out.writestr(name, content)
    return file.getvalue()


def book(opf: str, *chapters: tuple[str, str | bytes], at: str = "OPS/book.opf") -> bytes:
    pages = [(name, PAGE.format(body) if isinstance(body, str) else body) for name, body in chapters]
    return archive(
        [("mimetype", "application/epub+zip"), ("META-INF/container.xml", CONTAINER.format(at)), (at, opf), *pages]
    )


def read(data: bytes, limits: Limits | None = None) -> Extract:
    return epub.read(Source("book.epub", data, limits=limits or Limits()))


def text(data: bytes) -> str:
    extract = read(data)
    assert extract.warnings == ()
    return extract.pages[0].text


def test_chapters_stand_in_the_order_of_the_spine_under_title_and_authors() -> None:
    opf = package(item("a", "one.xhtml") + item("b", "two.xhtml") + item("css", "s.css", "text/css"), spine("b", "a"))
    data = book(opf, ("OPS/one.xhtml", "<h1>One</h1><p>x"), ("OPS/two.xhtml", "<h1>Two</h1>"), ("OPS/s.css", b"p {}"))
    assert text(data) == "Tides\n\nby A. Berg, B. Dal\n\n# Two\n\n# One\n\nx"
    extract = read(data)
    assert (extract.media_type, extract.encoding, len(extract.pages)) == ("application/epub+zip", None, 1)


@pytest.mark.parametrize(
    ("at", "href", "name"),
    [
        ("OPS/package/book.opf", "../Text/one.xhtml", "OPS/Text/one.xhtml"),
        ("book.opf", "Text/a%20b%C3%A9.xhtml#start", "Text/a bé.xhtml"),
        ("OPS/book.opf", "./x/../one.xhtml", "OPS/one.xhtml"),
        ("OPS/book.opf", "/Text/one.xhtml", "Text/one.xhtml"),
        ("OPS/book.opf", "ONE.XHTML", "OPS/one.xhtml"),
        ("OPS/book.opf", "one.xhtml", "OPS\\one.xhtml"),
        ("OPS/book.opf", "a+b.xhtml", "OPS/a+b.xhtml"),
    ],
)
def test_paths(at: str, href: str, name: str) -> None:
    assert text(book(package(item("a", href), spine("a"), ""), (name, "<p>found"), at=at)) == "found"


def test_missing_and_foreign_chapters_are_named() -> None:
    items = "".join(item(f"m{i}", f"lost{i}.xhtml") for i in range(7)) + item("a", "one.xhtml")
    items += item("out", "../../../etc/passwd") + item("web", "http://example.org/x.xhtml")
    opf = package(items, spine("a", *(f"m{i}" for i in range(7)), "out", "web", "unlisted"))
    extract = read(book(opf, ("OPS/one.xhtml", "<p>here")))
    assert extract.pages[0].text.endswith("here")
    (warning,) = extract.warnings
    named = ", ".join(f"lost{i}.xhtml" for i in range(5))
    assert warning == f"{named} and 5 more: listed in the book but missing from it"


def test_a_damaged_chapter_costs_itself_only() -> None:
    opf = package(item("a", "one.xhtml") + item("b", "two.xhtml"), spine("a", "b"), "")
    data = bytearray(book(opf, ("OPS/one.xhtml", "<p>" + "lost " * 50), ("OPS/two.xhtml", "<p>kept")))
    at = data.index(b"OPS/one.xhtml") + len("OPS/one.xhtml") + 20
    data[at : at + 8] = b"\xff" * 8
    extract = read(bytes(data))
    assert extract.pages[0].text == "kept"
    assert extract.warnings[0].startswith("OPS/one.xhtml: left out: OPS/one.xhtml is damaged")


def test_cover_navigation_and_doubles() -> None:
    items = item("c", "cover.xhtml") + item("n", "nav.xhtml", more='properties="nav"') + item("a", "one.xhtml")
    opf = package(items, spine("c", "n", "a", "a"), "")
    nav = '<nav epub:type="toc"><ol><li><a href="one.xhtml">1 One</a></li></ol></nav><nav hidden="">page list</nav>'
    data = book(opf, ("OPS/cover.xhtml", '<img alt="Cover image"/>'), ("OPS/nav.xhtml", nav), ("OPS/one.xhtml", "<p>x"))
    assert text(data) == "- 1 One\n\nx"


def test_what_stands_beside_the_course_of_the_book_follows_it() -> None:
    opf = package(
        item("n", "notes.xhtml") + item("a", "one.xhtml"), '<itemref idref="n" linear="no"/>' + spine("a"), ""
    )
    assert text(book(opf, ("OPS/notes.xhtml", "<p>notes"), ("OPS/one.xhtml", "<p>text"))) == "text\n\nnotes"


def test_fallbacks_and_pictures() -> None:
    items = (
        item("p", "plate.png", "image/png")
        + item("x", "x.pdf", "application/pdf", 'fallback="y"')
        + item("y", "y.xhtml", more='fallback="x"')
        + item("d", "d.svg", "image/svg+xml")
        + item("loop", "l.bin", "application/x", 'fallback="loop"')
    )
    data = book(
        package(items, spine("p", "x", "d", "loop"), ""),
        ("OPS/plate.png", b"\x89PNG"), ("OPS/x.pdf", b"%PDF"), ("OPS/y.xhtml", "<p>instead"), ("OPS/l.bin", b"?"),
        ("OPS/d.svg", b"<svg xmlns='http://www.w3.org/2000/svg'><text>drawn</text></svg>"),
    )  # fmt: skip
    extract = read(data)
    assert extract.pages[0].text == "instead\n\ndrawn"
    assert extract.warnings == ("OPS/l.bin: of a kind that is not read",)


def test_old_encodings_of_chapters() -> None:
    page = "<?xml version='1.0' encoding='windows-1251'?><html><body><p>Прилив</p></body></html>".encode("cp1251")
    assert text(book(package(item("a", "one.html", "text/html"), spine("a"), ""), ("OPS/one.html", page))) == "Прилив"


def encryption(method: str, name: str) -> tuple[str, bytes]:
    return (
        "META-INF/encryption.xml",
        (
            '<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container"'
            ' xmlns:e="http://www.w3.org/2001/04/xmlenc#">'
            f'<e:EncryptedData><e:EncryptionMethod Algorithm="{method}"/><e:CipherData>'
            f'<e:CipherReference URI="{name}"/>'
            "</e:CipherData></e:EncryptedData></encryption>"
        ).encode(),
    )


@pytest.mark.parametrize("uri", ["OPS/one.xhtml", "OPS/one%2Exhtml"])
def test_protected_books_are_refused_by_name(uri: str) -> None:
    opf = package(item("a", "one.xhtml") + item("b", "two.xhtml"), spine("a", "b"))
    locked = encryption("http://www.w3.org/2001/04/xmlenc#aes128-cbc", uri)
    data = book(opf, ("OPS/one.xhtml", b"\x80\x81noise"), ("OPS/two.xhtml", "<p>open"), locked)
    with pytest.raises(UnreadableError, match=r"digital rights management \(DRM\): 1 of 2 chapters"):
        read(data)


@pytest.mark.parametrize(
    ("method", "name"),
    [
        ("http://www.idpf.org/2008/embedding", "OPS/font.otf"),
        ("http://ns.adobe.com/pdf/enc#RC", "OPS/one.xhtml"),
        ("http://www.w3.org/2001/04/xmlenc#aes128-cbc", "OPS/font.otf"),
    ],
)
def test_scrambled_fonts_are_no_protection_of_the_text(method: str, name: str) -> None:
    data = book(
        package(item("a", "one.xhtml"), spine("a"), ""),
        ("OPS/one.xhtml", "<p>open"), ("OPS/font.otf", b"font"), encryption(method, name),
    )  # fmt: skip
    assert text(data) == "open"


def test_without_a_usable_package_file_chapters_come_by_name_and_this_is_told() -> None:
    pages = [(f"OPS/c{n}.xhtml", PAGE.format(f"<p>{n}")) for n in (10, 9, 1)]
    for opf in ("<package", package("", "")):
        extract = read(book(opf, *((name, body.encode()) for name, body in pages)))
        assert extract.pages[0].text == "1\n\n9\n\n10"
        assert "in the order of their names" in extract.warnings[0]
    without = read(archive([("mimetype", "application/epub+zip"), *pages]))
    assert without.pages[0].text == "1\n\n9\n\n10"
    # No container, but a package file that can be found all the same.
    opf = package(item("a", "c9.xhtml"), spine("a"), "")
    assert text(archive([("mimetype", "application/epub+zip"), ("OPS/x.opf", opf), *pages])) == "9"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (archive([("mimetype", "application/epub+zip")]), "a damaged EPUB book: it has no package file"),
        (book(package(item("a", "a.xhtml"), spine("a"))), "a.xhtml: listed in the book but missing"),
        (book(package(item("a", "a.xhtml"), spine("a")), ("OPS/a.xhtml", "<img src='p'/>")), "no text"),
    ],
)
def test_books_without_text_are_refused(data: bytes, reason: str) -> None:
    with pytest.raises(UnreadableError, match=reason):
        read(data)


def test_limits_hold_over_all_chapters() -> None:
    opf = package(item("a", "a.xhtml") + item("b", "b.xhtml"), spine("a", "b"), "")
    data = book(opf, ("OPS/a.xhtml", "<p>" + "x" * 600), ("OPS/b.xhtml", "<p>" + "y" * 600))
    assert len(read(data).pages[0].text) == 1_202
    with pytest.raises(UnreadableError, match="more than the limit of 1,000 characters"):
        read(data, Limits(document_characters=1_000))


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("book", archive([("mimetype", "application/epub+zip\r\n")]), True),
        ("book.zip", archive([("META-INF/container.xml", "x")]), True),
        ("book.epub", archive([("a", "x")]), True),
        ("book.epub", archive([("a", "x")])[:30], True),
        ("book.epub", b"<html>", False),
        ("text.odt", archive([("mimetype", "application/vnd.oasis.opendocument.text")]), False),
    ],
)
def test_what_counts_as_a_book(name: str, data: bytes, expected: bool) -> None:
    assert epub.matches(Source(name, data)) is expected


def test_pages_that_the_reading_order_does_not_name_stand_behind_the_others() -> None:
    items = (
        item("a", "a.xhtml") + item("n", "notes.xhtml") + item("t", "nav.xhtml", more='properties="nav"')
        + item("v", "v.mp4", "video/mp4", 'fallback="f"') + item("f", "f.xhtml") + item("s", "s.svg", "image/svg+xml")
        + item("m", "missing.xhtml") + item("again", "a.xhtml")
    )  # fmt: skip
    chapters = [(f"OPS/{name}.xhtml", f"<p>{name} text</p>") for name in ("a", "notes", "nav", "f")]
    extract = read(book(package(items, spine("a")), *chapters, ("OPS/s.svg", "<svg><text>drawn</text></svg>")))
    assert extract.pages[0].text == "Tides\n\nby A. Berg, B. Dal\n\na text\n\nnotes text"
    assert extract.warnings == ("OPS/notes.xhtml: not in the book's reading order, so it stands behind the others",)


def test_entities_that_a_chapter_declares() -> None:
    chapter = PAGE.replace("<html", '<!DOCTYPE html [<!ENTITY co "Tide &amp; Sons">]><html').format(
        "<p>&co; &mdash;</p>"
    )
    data = book(package(item("a", "a.xhtml"), spine("a"), ""), ("OPS/a.xhtml", chapter.encode()))
    assert text(data) == "Tide & Sons \u2014"
