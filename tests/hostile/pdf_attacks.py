"""Files made to harm whoever reads them, each with its number, what it tries, and what must come of it.

Most are a sandwich: a sound page that reads "Before.", the page or structure that does harm, a sound page that reads
"After.". The outcome says what is left:

    read    every page is there, the middle one with its own words ("Kept.") where it has any
    page    the middle page is lost or has lost something, with a warning on it; the sound pages are there
    sound   the sound pages are there; what becomes of the middle one is of no matter
    file    the file is refused, with a reason
    any     either of these, but told, in time and within the limits

Files are small (the largest is 4 MB); nothing here is taken from a real exploit.
"""

from __future__ import annotations

# ruff: noqa: E501 - in the list, an attack is a line where it can be
import io
import random
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from unittest import mock

from pypdf import PdfReader, PdfWriter

FONT = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>"
KEPT = b"BT /F 12 Tf 50 700 Td (Kept.) Tj ET"
PAGE = b"/Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]"
MIDDLE = b"/Resources<</Font<</F 3 0 R>>>>/Contents 9 0 R"


@dataclass(frozen=True)
class Attack:
    number: int
    what: str
    outcome: str
    data: Callable[[], bytes]


def pdf(objects: dict[int, bytes], trailer: bytes = b"", *, root: bytes = b"/Root 1 0 R", size: bytes = b"") -> bytes:
    """A file of these objects with a right table; `trailer` adds entries (the first of a kind counts for no reader)."""
    out, offsets = b"%PDF-1.7\n", {}
    for number, body in objects.items():
        offsets[number] = len(out)
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"xref\n0 1\n0000000000 65535 f \n"
    table += b"".join(b"%d 1\n%010d 00000 n \n" % (number, at) for number, at in offsets.items())
    size = size or b"%d" % (max(objects) + 1)
    return out + table + b"trailer\n<</Size %s%s%s>>\nstartxref\n%d\n%%%%EOF\n" % (size, root, trailer, len(out))


def stream(data: bytes, entries: bytes = b"") -> bytes:
    return b"<</Length %d%s>>stream\n%s\nendstream" % (len(data), entries, data)


def flate(data: bytes, entries: bytes = b"") -> bytes:
    return stream(zlib.compress(data, 1), b"/Filter/FlateDecode" + entries)


def text(words: bytes) -> bytes:
    return b"BT /F 12 Tf 50 700 Td (%s) Tj ET" % words


def sandwich(
    content: bytes = KEPT,
    *,
    objects: dict[int, bytes] | None = None,
    middle: bytes = MIDDLE,
    catalog: bytes = b"",
    pages: bytes = b"",
    kids: bytes = b"4 0 R 8 0 R 6 0 R",
    trailer: bytes = b"",
    size: bytes = b"",
) -> bytes:
    """Objects 1 to 9: catalog, tree, font, the two sound pages with their streams, the middle page and its stream."""
    sound = b"<<%s/Resources<</Font<</F 3 0 R>>>>/Contents %d 0 R>>"
    made = {
        1: b"<</Type/Catalog/Pages 2 0 R%s>>" % catalog,
        2: b"<</Type/Pages/Kids[%s]%s>>" % (kids, pages or b"/Count 3"),
        3: FONT,
        4: sound % (PAGE, 5),
        5: stream(text(b"Before.")),
        6: sound % (PAGE, 7),
        7: stream(text(b"After.")),
        8: b"<<%s%s>>" % (PAGE, middle),
        9: stream(content),
    }
    return pdf(made | (objects or {}), trailer, size=size)


def fonted(font: bytes, content: bytes = KEPT, **objects: bytes) -> bytes:
    """The middle page shows its text in this font, object 10; `o11` and so on are further objects."""
    more = {int(name[1:]): body for name, body in objects.items()}
    middle = b"/Resources<</Font<</F 10 0 R>>>>/Contents 9 0 R"
    return sandwich(content, objects={10: font, **more}, middle=middle)


def formed(content: bytes, **forms: bytes) -> bytes:
    """The middle page's content may draw forms, which may draw all forms: /X10 is object 10 and so on."""
    names = b"".join(b"/X%s %s 0 R" % (name[1:].encode(), name[1:].encode()) for name in forms)
    resources = b"/Resources<</Font<</F 3 0 R>>/XObject<<%s>>>>" % names
    entries = b"/Type/XObject/Subtype/Form/BBox[0 0 600 800]" + resources
    objects = {int(name[1:]): stream(body, entries) for name, body in forms.items()}
    return sandwich(KEPT + b" " + content, objects=objects, middle=resources + b"/Contents 9 0 R")


def lzw_bomb(blocks: int) -> bytes:
    """Line ends; each block of 5.7 kB unpacks to 7 MB."""
    codes, bits = [], 9
    table, out, held, count = 258, bytearray(), 0, 0
    for _ in range(blocks):
        codes = [256, 10, *range(258, 4093)]
        bits, table = 9, 258
        for at, code in enumerate(codes):
            held, count = held << bits | code, count + bits
            while count >= 8:
                count -= 8
                out.append(held >> count & 255)
            if at >= 2:
                table += 1
            if table + 1 in (511, 1023, 2047):
                bits = (table + 2).bit_length()
        held &= (1 << count) - 1
    return bytes(out)


def cmap(body: bytes) -> bytes:
    return stream(b"begincmap\n1 begincodespacerange\n<0000> <FFFF>\nendcodespacerange\n%s\nendcmap" % body)


def composite(mapping: bytes, widths: bytes = b"") -> bytes:
    font = b"<</Type/Font/Subtype/Type0/BaseFont/X/Encoding/Identity-H/DescendantFonts[11 0 R]/ToUnicode 12 0 R>>"
    below = b"<</Type/Font/Subtype/CIDFontType2/BaseFont/X/DW 500%s>>" % widths
    return fonted(font, b"BT /F 12 Tf 50 700 Td <00410042> Tj ET", o11=below, o12=mapping)


def object_stream(index: bytes, body: bytes, entries: bytes = b"") -> bytes:
    return stream(index + b" " + body, b"/Type/ObjStm/First %d%s" % (len(index) + 1, entries))


def with_xref_stream(rows: list[tuple[int, int, int]], objects: dict[int, bytes], entries: bytes = b"") -> bytes:
    """Objects in a file whose table is a stream; `rows` are added to those of the objects, for numbers from 100 on."""
    out, table = b"%PDF-1.7\n", {0: (0, 0, 65535)}
    for number, body in objects.items():
        table[number] = (1, len(out), 0)
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table |= dict(enumerate(rows, 100))
    index = b"".join(b"%d 1 " % number for number in table)
    data = b"".join(kind.to_bytes(1) + at.to_bytes(4) + more.to_bytes(2) for kind, at, more in table.values())
    head = b"/Type/XRef/W[1 4 2]/Index[%s]/Size 200/Root 1 0 R%s" % (index, entries)
    return out + b"99 0 obj\n%s\nendobj\nstartxref\n%d\n%%%%EOF\n" % (stream(data, head), len(out))


def encrypted(algorithm: str) -> bytes:
    """The sandwich under the password bronze (owner: owner), with the same "random" bytes every time."""
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(sandwich())))
    with mock.patch("secrets.token_bytes", random.Random(7).randbytes):
        writer.encrypt("bronze", "owner", algorithm=algorithm)
        out = io.BytesIO()
        writer.write(out)
    return out.getvalue()


def deep_tree(levels: int) -> bytes:
    nodes = {n: b"<</Type/Pages/Count 1/Kids[%d 0 R]>>" % (n + 1) for n in range(20, 20 + levels)}
    last = {20 + levels: b"<<%s%s>>" % (PAGE, MIDDLE)}
    return sandwich(objects=nodes | last, kids=b"4 0 R 20 0 R 6 0 R")


def self_previous() -> bytes:
    data = sandwich(trailer=b"/Prev 0000000000")
    return data.replace(b"/Prev 0000000000", b"/Prev %010d" % data.index(b"xref\n"))


def mutual_previous() -> bytes:
    data = sandwich(trailer=b"/Prev 0000000000")
    first = data.index(b"xref\n")
    second = b"xref\n0 1\n0000000000 65535 f \ntrailer\n<</Size 10/Root 1 0 R/Prev %d>>\n" % first
    out = data.replace(b"/Prev 0000000000", b"/Prev %010d" % len(data))
    return out + second + b"startxref\n%d\n%%%%EOF\n" % len(data)


def laughs(levels: int, times: int) -> bytes:
    forms = {
        f"x{10 + level}": (b"/X%d Do " % (11 + level)) * times if level < levels - 1 else text(b"ha")
        for level in range(levels)
    }
    return formed(b"/X10 Do", **forms)


FIELD = b"/Parent 11 0 R/Kids[10 0 R 11 0 R]/T(name)/FT/Tx/V(Value.)"
WIDE_TAIL = b" 0 0 1 50 700 Tm"
BOMB = b"\n" * 100_000_000
XMP = b'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><x:xmpmeta xmlns:x="adobe:ns:meta/">&e;</x:xmpmeta>'

# What is tried, what must come of it, the file.
_LIST: list[tuple[str, str, Callable[[], bytes]]] = [
    # -- filters
    (
        "a stream behind 200 filters",
        "read",
        lambda: sandwich(objects={9: stream(KEPT, b"/Filter[%s]" % (b"/FlateDecode" * 200))}),
    ),
    (
        "a stream packed 30 times, soundly",
        "read",
        lambda: sandwich(objects={9: stream(packed(KEPT, 30), b"/Filter[%s]" % (b"/FlateDecode" * 30))}),
    ),
    ("Flate: 100 MB of line ends", "page", lambda: sandwich(objects={9: flate(BOMB)})),
    (
        "Flate in Flate: 300 MB of line ends",
        "page",
        lambda: sandwich(objects={9: stream(deep_bomb(), b"/Filter[/FlateDecode/FlateDecode]")}),
    ),
    ("LZW: 200 MB", "page", lambda: sandwich(objects={9: stream(lzw_bomb(28), b"/Filter/LZWDecode")})),
    (
        "RunLength in Flate: 200 MB",
        "page",
        lambda: sandwich(
            objects={9: stream(zlib.compress(b"\x81\n" * 1_600_000), b"/Filter[/FlateDecode/RunLengthDecode]")}
        ),
    ),
    (
        "ASCII85 in Flate: 200 MB",
        "page",
        lambda: sandwich(
            objects={9: stream(zlib.compress(b"z" * 50_000_000 + b"~>"), b"/Filter[/FlateDecode/ASCII85Decode]")}
        ),
    ),
    ("ASCIIHex without an end", "sound", lambda: sandwich(objects={9: stream(b"4" * 99_999, b"/Filter/ASCIIHexDecode")})),
    ("an unknown filter", "read", lambda: sandwich(objects={9: stream(KEPT, b"/Filter/Nonsense")})),
    ("a filter that is its own stream", "read", lambda: sandwich(objects={9: stream(KEPT, b"/Filter 9 0 R")})),
    (
        "a predictor of a billion columns",
        "sound",
        lambda: sandwich(
            objects={9: flate(KEPT, b"/DecodeParms<</Predictor 15/Columns 1000000000/Colors 32/BitsPerComponent 16>>")}
        ),
    ),
    (
        "a predictor of negative columns",
        "sound",
        lambda: sandwich(objects={9: flate(KEPT, b"/DecodeParms<</Predictor 12/Columns -1>>")}),
    ),
    (
        "a predictor whose rows are of no known kind",
        "sound",
        lambda: sandwich(objects={9: flate(b"\x09" * 1000, b"/DecodeParms<</Predictor 15/Columns 4>>")}),
    ),
    ("JBIG2 as content", "sound", lambda: sandwich(objects={9: stream(b"\x97JB2" * 99, b"/Filter/JBIG2Decode")})),
    (
        "a JBIG2 image of 4 billion dots with globals that are itself",
        "read",
        lambda: sandwich(
            KEPT + b" q 1 0 0 1 0 0 cm /I Do Q",
            objects={
                10: stream(
                    b"\0" * 99,
                    b"/Type/XObject/Subtype/Image/Width 65535/Height 65535/BitsPerComponent 1/ColorSpace/DeviceGray"
                    b"/Filter/JBIG2Decode/DecodeParms<</JBIG2Globals 10 0 R>>",
                )
            },
            middle=b"/Resources<</Font<</F 3 0 R>>/XObject<</I 10 0 R>>>>/Contents 9 0 R",
        ),
    ),
    # -- structure of the file
    ("a table whose predecessor is itself", "read", self_previous),
    ("two tables that precede each other", "read", mutual_previous),
    ("/Size of two billion", "read", lambda: sandwich(size=b"2147483647")),
    ("/Size of -1", "read", lambda: sandwich(size=b"-1")),
    ("/Count of a billion", "read", lambda: sandwich(pages=b"/Count 1000000000")),
    ("/Count of -5", "read", lambda: sandwich(pages=b"/Count -5")),
    (
        "a table that announces two billion entries",
        "read",
        lambda: sandwich().replace(b"xref\n0 1\n", b"xref\n0 2147483647\n"),
    ),
    ("startxref beyond the end", "read", lambda: sandwich().replace(b"startxref\n", b"startxref\n9999999")),
    ("startxref of -1", "read", lambda: sandwich().replace(b"startxref\n", b"startxref\n-")),
    ("a table stream with fields of a million bytes", "any", lambda: xref_fields(b"[1000000 1000000 1]")),
    ("a table stream with negative fields", "any", lambda: xref_fields(b"[-1 -4 -2]")),
    ("a root that is a reference to itself", "file", lambda: sandwich(objects={1: b"1 0 R"})),
    ("a chain of 20,000 references", "page", lambda: sandwich(objects=chain(20_000))),
    ("two objects that are references to each other", "page", lambda: sandwich(objects={9: b"10 0 R", 10: b"9 0 R"})),
    ("a stream of negative length", "read", lambda: sandwich(objects={9: stream(KEPT).replace(b"/Length ", b"/Length -")})),
    (
        "a stream of a billion billion bytes",
        "read",
        lambda: sandwich(objects={9: stream(KEPT).replace(b"/Length ", b"/Length 1000000000000000000")}),
    ),
    (
        "a stream whose length is itself",
        "read",
        lambda: sandwich(objects={9: b"<</Length 9 0 R>>stream\n" + KEPT + b"\nendstream"}),
    ),
    ("an object stream that holds itself", "any", lambda: packed_objects((2, 10, 0))),
    ("an object stream that extends itself", "any", lambda: packed_objects((1, 0, 0), b"/Extends 10 0 R")),
    ("an object stream of a billion objects", "any", lambda: packed_objects((1, 0, 0), b"/N 1000000000")),
    ("a program in front of the header", "read", lambda: b"#!/bin/sh\nexit\n" * 60 + sandwich()),
    ("a megabyte of noise behind the end", "read", lambda: sandwich() + b"\x00\xff" * 500_000),
    # -- trees and lists that lead in circles
    ("a page tree that holds itself", "read", lambda: sandwich(kids=b"4 0 R 2 0 R 8 0 R 6 0 R")),
    ("a page tree 5,000 levels deep", "read", lambda: deep_tree(5_000)),
    (
        "100,000 pages that are one object",
        "file",
        lambda: sandwich(kids=b"4 0 R " + b"8 0 R " * 100_000, pages=b"/Count 100001"),
    ),
    (
        "outlines that lead in a circle",
        "read",
        lambda: sandwich(
            catalog=b"/Outlines 10 0 R",
            objects={
                10: b"<</Type/Outlines/First 11 0 R/Last 11 0 R/Count 9>>",
                11: b"<</Title(x)/Parent 11 0 R/First 11 0 R/Next 11 0 R/Prev 11 0 R>>",
            },
        ),
    ),
    (
        "a name tree that holds itself",
        "read",
        lambda: sandwich(catalog=b"/Names<</Dests 10 0 R/EmbeddedFiles 10 0 R>>", objects={10: b"<</Kids[10 0 R 10 0 R]>>"}),
    ),
    (
        "page labels whose tree holds itself",
        "read",
        lambda: sandwich(catalog=b"/PageLabels 10 0 R", objects={10: b"<</Kids[10 0 R 10 0 R]/Limits[0 9]>>"}),
    ),
    (
        "page labels in Roman numerals of a billion",
        "read",
        lambda: sandwich(catalog=b"/PageLabels<</Nums[0<</S/R/St 1000000000>>]>>"),
    ),
    (
        "page labels of 38 million letters",
        "read",
        lambda: sandwich(catalog=b"/PageLabels<</Nums[0<</S/A/St 1000000000>>]>>"),
    ),
    (
        "a page label of a megabyte",
        "read",
        lambda: sandwich(catalog=b"/PageLabels<</Nums[0<</S/D/P(%s)>>]>>" % (b"x" * 1_000_000)),
    ),
    (
        "annotations that are each other's parents",
        "read",
        lambda: sandwich(
            middle=MIDDLE + b"/Annots[10 0 R 11 0 R 10 0 R]",
            objects={
                10: b"<</Type/Annot/Subtype/Text/Rect[0 0 9 9]/Contents(x)/Popup 11 0 R/Parent 11 0 R/IRT 11 0 R>>",
                11: b"<</Type/Annot/Subtype/Popup/Rect[0 0 9 9]/Parent 10 0 R/Popup 10 0 R/IRT 10 0 R>>",
            },
        ),
    ),
    (
        "form fields that are their own children",
        "read",
        lambda: sandwich(
            catalog=b"/AcroForm<</Fields[10 0 R 11 0 R]>>",
            middle=MIDDLE + b"/Annots[10 0 R 11 0 R]",
            objects={
                10: b"<</Type/Annot/Subtype/Widget/Rect[0 0 99 20]" + FIELD + b">>",
                11: b"<</Type/Annot/Subtype/Widget/Rect[0 0 99 20]" + FIELD + b">>",
            },
        ),
    ),
    (
        "a structure tree that holds itself",
        "read",
        lambda: sandwich(
            b"/P <</MCID 0>> BDC " + KEPT + b" EMC",
            catalog=b"/MarkInfo<</Marked true>>/StructTreeRoot 10 0 R",
            objects={10: b"<</Type/StructTreeRoot/K[10 0 R]/P 10 0 R/ParentTree 10 0 R/RoleMap<</P/P>>>>"},
        ),
    ),
    (
        "layers whose condition is itself",
        "read",
        lambda: sandwich(
            b"/OC /L BDC " + KEPT + b" EMC",
            catalog=b"/OCProperties<</OCGs[10 0 R]/D<</Order[[[[11 0 R]]]]/OFF[11 0 R]>>>>",
            middle=b"/Resources<</Font<</F 3 0 R>>/Properties<</L 10 0 R>>>>/Contents 9 0 R",
            objects={10: b"<</Type/OCMD/OCGs[10 0 R]/VE 11 0 R>>", 11: b"[/Not 11 0 R]"},
        ),
    ),
    (
        "resources that are their own parents",
        "read",
        lambda: sandwich(
            middle=b"/Resources 10 0 R/Contents 9 0 R", objects={10: b"<</Font 10 0 R/F 3 0 R/Resources 10 0 R>>"}
        ),
    ),
    # -- content
    ("a form that draws itself", "read", lambda: formed(b"/X10 Do", x10=b"/X10 Do /X10 Do")),
    ("forms that draw each other", "read", lambda: formed(b"/X10 Do", x10=b"/X11 Do " * 10, x11=b"/X10 Do " * 10)),
    ("forms in forms: ten thousand million words", "page", lambda: laughs(10, 10)),
    ("50,000 operators that show text", "sound", lambda: sandwich(b"BT /F 9 Tf 1 0 0 1 9 9 Tm " + b"(cell) Tj 5 0 Td " * 50_000 + b"ET")),
    ("a million saved states", "sound", lambda: sandwich(KEPT + b" q" * 1_000_000)),
    ("a million states restored that were never saved", "sound", lambda: sandwich(b"Q " * 1_000_000 + KEPT)),
    ("200,000 openings of arrays", "read", lambda: sandwich(KEPT + b" " + b"[" * 200_000)),
    ("100,000 openings of dictionaries", "read", lambda: sandwich(KEPT + b" " + b"<<" * 100_000)),
    ("a dictionary 50,000 levels deep", "page", lambda: sandwich(objects={9: b"<</A" * 50_000 + b">>" * 50_000})),
    ("an array 50,000 levels deep as resources", "page", lambda: sandwich(middle=b"/Contents 9 0 R/Resources " + b"[" * 50_000 + b"]" * 50_000)),
    ("a million opening parentheses", "sound", lambda: sandwich(KEPT + b" BT " + b"(" * 1_000_000)),
    ("100,000 parts of a page that are one stream", "sound", lambda: sandwich(middle=b"/Resources<</Font<</F 3 0 R>>>>/Contents[" + b"9 0 R " * 100_000 + b"]")),
    ("60 MB of text on one page", "page", lambda: sandwich(objects={9: flate(b"BT /F 9 Tf " + b"(%s) Tj " % (b"word " * 200) * 60_000 + b"ET")})),
    ("40 MB of comments", "sound", lambda: sandwich(objects={9: flate(b"% nothing to see here\n" * 1_900_000 + KEPT)})),
    ("an inline image that never ends", "read", lambda: sandwich(KEPT + b" BI /W 9 /H 9 /BPC 8 /CS /G ID " + b"x" * 100_000)),
    ("10,000 inline images of a billion dots", "read", lambda: sandwich(KEPT + b" BI /W 99999 /H 99999 /BPC 8 /CS /RGB ID ab EI" * 10_000)),
    ("numbers of 10,000 digits", "read", lambda: sandwich(KEPT + b" BT " + b"9" * 10_000 + b" 0 Td -" + b"9" * 10_000 + b" " + b"9" * 10_000 + b".5 Td (far) Tj ET")),
    ("numbers beyond 64 bits", "read", lambda: sandwich(b"9223372036854775808 -9223372036854775809 4294967296 w d " + KEPT)),
    ("matrices of infinity and of nothing", "read", lambda: sandwich(KEPT + b" q 1e400 0 0 1e400 1e400 1e400 cm " + KEPT + b" Q q 0 0 0 0 0 0 cm " + KEPT + b" Q q nan inf -inf nan 0 0 cm " + KEPT + b" Q")),
    ("text a billion lines and columns away", "read", lambda: sandwich(KEPT + b" BT /F 12 Tf 1 0 0 1 1e12 1e12 Tm (far) Tj 1 0 0 1 -1e12 -1e12 Tm (away) Tj 1 0 0 1 1e300 5 Tm (and) Tj ET")),
    ("letters of 1e-30 and of 1e30 points", "read", lambda: sandwich(KEPT + b" BT /F 1e-30 Tf 9 9 Td (dust) Tj /F 1e30 Tf (mountain) Tj /F -0 Tf (nothing) Tj ET")),
    ("spacing of 1e30 between 1,000 letters", "read", lambda: sandwich(KEPT + b" BT /F 12 Tf 1e30 Tc 1e30 Tw 1e30 Tz 50 600 Td (%s) Tj [%s] TJ ET" % (b"a " * 500, b"(a) -1e30 " * 500))),
    ("a page of 1e38 units, turned by 1e9 degrees", "read", lambda: sandwich(middle=MIDDLE + b"/MediaBox[-1e38 -1e38 1e38 1e38]/CropBox[9 9 -9 -9]/UserUnit 1e300/Rotate 1000000000")),
    ("operators without operands", "read", lambda: sandwich(KEPT + b" BT Tf Td TD Tm T* Tj TJ ' \" Tc Tw Tz TL Ts Tr Do cm q Q BDC EMC BI ID EI sh gs ET")),
    ("operands of wrong types", "read", lambda: sandwich(KEPT + b" BT (x) /F Tf /F (y) Td [1] Tj (z) TJ <</A 1>> Tm /No Do 1 Do null Tj ET")),
    ("100,000 marks opened and never closed", "sound", lambda: sandwich(KEPT + b" /Span <</ActualText(x)>> BDC" * 100_000)),
    ("a replacement text of 5 MB", "read", lambda: sandwich(objects={9: flate(b"/Span <</ActualText(%s)>> BDC " % (b"word " * 1_000_000) + KEPT + b" EMC")})),
    # -- wrong types
    ("a page's content that is a number", "sound", lambda: sandwich(middle=b"/Resources<</Font<</F 3 0 R>>>>/Contents 7")),
    ("resources that are a string", "read", lambda: sandwich(middle=b"/Resources(none)/Contents 9 0 R")),
    ("a font that is a number", "read", lambda: sandwich(middle=b"/Resources<</Font<</F 12>>>>/Contents 9 0 R")),
    ("fonts that are an array", "read", lambda: sandwich(middle=b"/Resources<</Font[3 0 R]>>/Contents 9 0 R")),
    ("a page that is a stream", "any", lambda: sandwich(objects={8: stream(KEPT)})),
    ("children that are a number", "file", lambda: sandwich().replace(b"/Kids[4 0 R 8 0 R 6 0 R]", b"/Kids 8               ")),
    ("pages that are null", "file", lambda: sandwich(objects={2: b"null"})),
    # -- fonts
    ("a font that is its own descendant", "sound", lambda: fonted(b"<</Type/Font/Subtype/Type0/BaseFont/X/Encoding/Identity-H/DescendantFonts[10 0 R]/Parent 10 0 R>>")),
    ("a million widths", "sound", lambda: fonted(b"<</Type/Font/Subtype/TrueType/BaseFont/X/FirstChar 0/LastChar 999999/Widths[%s]>>" % (b"500 " * 1_000_000))),
    ("characters from minus to plus a billion", "read", lambda: fonted(b"<</Type/Font/Subtype/TrueType/BaseFont/X/FirstChar -1000000000/LastChar 1000000000/Widths[1 2]>>")),
    ("widths for a billion characters", "sound", lambda: composite(cmap(b"1 beginbfchar <0041> <0041> endbfchar"), b"/W[0 1000000000 500 0 [1 2] 7 10 0 R]")),
    ("a character map of 4 billion entries", "sound", lambda: composite(cmap(b"1 beginbfrange <00000000> <FFFFFFFF> <0041> endbfrange"))),
    ("a character map of 2,000 full ranges", "sound", lambda: composite(cmap(b"2000 beginbfrange\n%sendbfrange" % (b"<0000> <FFFF> <0041>\n" * 2_000)))),
    ("a character map that ends before it begins", "sound", lambda: composite(cmap(b"1 beginbfrange <FFFF> <0000> <0041> endbfrange"))),
    ("a character that means a megabyte", "sound", lambda: composite(cmap(b"1 beginbfchar <0041> <%s> endbfchar" % (b"0041" * 250_000)))),
    ("a character map without an end", "sound", lambda: composite(stream(b"begincmap 100 beginbfchar <0041> " * 10_000))),
    ("a character map that uses itself", "sound", lambda: composite(stream(b"/Self usecmap begincmap endcmap", b"/UseCMap 12 0 R"))),
    ("a million differences", "sound", lambda: fonted(b"<</Type/Font/Subtype/Type1/BaseFont/X/Encoding<</Differences[0 %s1000000000 /a]>>>>" % (b"/a " * 1_000_000))),
    (
        "a font whose letters are drawn in itself",
        "sound",
        lambda: fonted(
            b"<</Type/Font/Subtype/Type3/FontBBox[0 0 1 1]/FontMatrix[1 0 0 1 0 0]/CharProcs<</a 11 0 R>>"
            b"/Encoding<</Differences[97/a]>>/FirstChar 97/LastChar 97/Widths[1]/Resources<</Font<</F 10 0 R>>>>>>",
            b"BT /F 12 Tf (aaa) Tj ET",
            o11=stream(b"1 0 d0 BT /F 1 Tf (aaa) Tj ET"),
        ),
    ),
    ("a font program of 100 MB", "read", lambda: fonted(b"<</Type/Font/Subtype/TrueType/BaseFont/X/FontDescriptor 11 0 R>>", o11=b"<</Type/FontDescriptor/FontName/X/FontFile2 12 0 R/FontFile 12 0 R/FontFile3 12 0 R>>", o12=flate(b"\0" * 100_000_000))),
    ("a font matrix of nothing", "read", lambda: fonted(b"<</Type/Font/Subtype/Type3/FontBBox[0 0 0 0]/FontMatrix[0 0 0 0 0 0]/CharProcs<<>>/Encoding<</Differences[65/A]>>/FirstChar 0/LastChar 0/Widths[]>>")),
    # -- encryption
    ("RC4 of 40 bits, no password", "file", lambda: encrypted("RC4-40")),
    ("RC4 of 128 bits, no password", "file", lambda: encrypted("RC4-128")),
    ("AES of 128 bits, no password", "file", lambda: encrypted("AES-128")),
    ("AES of 256 bits, revision 5, no password", "file", lambda: encrypted("AES-256-R5")),
    ("AES of 256 bits, no password", "file", lambda: encrypted("AES-256")),
    ("an encryption of no known kind", "file", lambda: sandwich(trailer=b"/Encrypt<</Filter/Mine/V 99/R 99>>/ID[(a)(a)]")),
    ("an encryption without its fields", "file", lambda: sandwich(trailer=b"/Encrypt<</Filter/Standard/V 4/R 4>>/ID[(a)(a)]")),
    ("an encryption that is itself", "file", lambda: sandwich(trailer=b"/Encrypt 10 0 R", objects={10: b"10 0 R"})),
    ("an encryption of a million rounds of keys", "file", lambda: sandwich(trailer=b"/Encrypt<</Filter/Standard/V 2/R 3/Length 2147483640/P -1/O(%s)/U(%s)>>/ID[(a)(a)]" % (b"x" * 32, b"y" * 32))),
    # -- deeds
    (
        "scripts, programs to start, addresses to call, files to fetch",
        "read",
        lambda: sandwich(
            catalog=b"/OpenAction 10 0 R/AA<</WC 11 0 R>>/URI<</Base(http://127.0.0.1:9)>>",
            middle=MIDDLE + b"/AA<</O 11 0 R>>/Annots[12 0 R]",
            objects={
                10: b"<</S/JavaScript/JS(app.launchURL('http://127.0.0.1:9'))/Next 11 0 R>>",
                11: b"<</S/Launch/F(/bin/sh)/Win<</F(cmd.exe)/P(/c calc)>>/Next 10 0 R>>",
                12: b"<</Type/Annot/Subtype/Link/Rect[0 0 9 9]/A<</S/GoToR/F(\\\\\\\\127.0.0.1\\\\x)/D[0/Fit]>>>>",
            },
        ),
    ),
    (
        "content in a file elsewhere",
        "sound",
        lambda: sandwich(objects={9: b"<</Length 0/F(/etc/passwd)/FFilter/FlateDecode>>stream\n\nendstream"}),
    ),
    ("metadata with an external entity", "read", lambda: sandwich(catalog=b"/Metadata 10 0 R", objects={10: stream(XMP, b"/Type/Metadata/Subtype/XML")})),
    (
        "a form in XML whose entities multiply",
        "read",
        lambda: sandwich(catalog=b"/AcroForm<</Fields[]/XFA 10 0 R>>", objects={10: stream(laughing_xml())}),
    ),
    # -- not what it says
    ("a header and nothing else", "file", lambda: b"%PDF-1.7\n%%EOF"),
    ("a zip archive in a PDF's clothes", "file", lambda: b"%PDF-1.7\nPK\x03\x04" + b"\0" * 4096),
    ("a megabyte of the word obj", "file", lambda: b"%PDF-1.7\n" + b"1 0 obj " * 125_000),
    ("a megabyte of line ends between numbers", "file", lambda: b"%PDF-1.7\n" + (b"1" + b"\n" * 1_000) * 1_000),
    ("20,000 tables, each before the other", "file", lambda: b"%PDF-1.7\n" + b"xref\n0 0\ntrailer\n<</Prev 9>>\nstartxref\n9\n%%EOF\n" * 20_000),
]  # fmt: skip


def packed(data: bytes, times: int) -> bytes:
    for _ in range(times):
        data = zlib.compress(data)
    return data


def deep_bomb() -> bytes:
    """300 MB, made in pieces."""
    packer = zlib.compressobj(1)
    piece = b"\n" * 10_000_000
    return zlib.compress(b"".join(packer.compress(piece) for _ in range(30)) + packer.flush(), 9)


def chain(length: int) -> dict[int, bytes]:
    links = {number: b"%d 0 R" % (number + 1) for number in range(20, 20 + length)}
    return {9: b"20 0 R", **links, 20 + length: stream(KEPT)}


def base_objects() -> dict[int, bytes]:
    return {
        1: b"<</Type/Catalog/Pages 2 0 R>>",
        2: b"<</Type/Pages/Kids[4 0 R]/Count 1>>",
        3: FONT,
        4: b"<<%s/Resources<</Font<</F 3 0 R>>>>/Contents 5 0 R>>" % PAGE,
        5: stream(text(b"Before.")),
    }


def xref_fields(fields: bytes) -> bytes:
    return with_xref_stream([], base_objects()).replace(b"/W[1 4 2]", b"/W" + fields)


def packed_objects(row: tuple[int, int, int], entries: bytes = b"") -> bytes:
    """Object 100 (the page's font) stands in the object stream 10, of which `row` is the entry in the table."""
    objects = base_objects()
    objects[4] = b"<<%s/Resources<</Font<</F 100 0 R>>>>/Contents 5 0 R>>" % PAGE
    held = object_stream(b"100 0 10 5", FONT, entries or b"/N 2")
    made = with_xref_stream([(2, 10, 0)], objects | {10: held})
    if row[0] == 2:
        at = made.index(b"10 0 obj")
        return made.replace(b"\x01" + at.to_bytes(4) + b"\0\0", b"\x02" + row[1].to_bytes(4) + b"\0\0")
    return made


def laughing_xml() -> bytes:
    entities = b"".join(b'<!ENTITY e%d "%s">' % (n + 1, b"&e%d;" % n * 10) for n in range(10))
    return b'<!DOCTYPE x [<!ENTITY e0 "ha">%s]><x>&e10;</x>' % entities


ATTACKS = tuple(Attack(number, *entry) for number, entry in enumerate(_LIST, 1))
