"""Word documents made in memory: what a person reads in them, with all tracked changes accepted, must come out."""

from __future__ import annotations

import io
import zipfile

import pytest

from spsl_cli.documents import docx
from spsl_cli.documents.limits import Limits
from spsl_cli.documents.source import Extract, Source, UnreadableError

OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
SPACES = " ".join(
    f'xmlns:{prefix}="{uri}"'
    for prefix, uri in {
        "w": "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
        "r": OFFICE,
        "m": "http://schemas.openxmlformats.org/officeDocument/2006/math",
        "mc": "http://schemas.openxmlformats.org/markup-compatibility/2006",
        "wp": "http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing",
        "wps": "http://schemas.microsoft.com/office/word/2010/wordprocessingShape",
        "v": "urn:schemas-microsoft-com:vml",
        "a": "http://schemas.openxmlformats.org/drawingml/2006/main",
        "c": "http://schemas.openxmlformats.org/drawingml/2006/chart",
        "dgm": "http://schemas.openxmlformats.org/drawingml/2006/diagram",
    }.items()
)
RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"


def run(text: str, properties: str = "") -> str:
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def paragraph(*runs: str, properties: str = "") -> str:
    content = "".join(each if each.startswith("<") else run(each) for each in runs)
    return f"<w:p><w:pPr>{properties}</w:pPr>{content}</w:p>"


def numbered(text: str, depth: int = 0, number: int = 1) -> str:
    return paragraph(text, properties=f'<w:numPr><w:ilvl w:val="{depth}"/><w:numId w:val="{number}"/></w:numPr>')


def cell(*content: str, properties: str = "") -> str:
    inner = "".join(each if each.startswith("<") else paragraph(each) for each in content)
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{inner}</w:tc>"


def table(*rows: str) -> str:
    return f"<w:tbl>{''.join(f'<w:tr>{row}</w:tr>' for row in rows)}</w:tbl>"


def archive(members: dict[str, str | bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as out:
        for name, content in members.items():
            out.writestr(name, content)
    return file.getvalue()


def relations(*entries: tuple[str, str]) -> str:
    """(kind, target) as rId1, rId2, ..."""
    rows = "".join(
        f'<Relationship Id="rId{i}" Type="{OFFICE}/{kind}" Target="{target}"/>'
        for i, (kind, target) in enumerate(entries, 1)
    )
    return f'<Relationships xmlns="{RELATIONS}">{rows}</Relationships>'


def word(body: str, *parts: tuple[str, str, str], main: str = "word/document.xml") -> bytes:
    """A document; `parts` are (kind, file name, XML inside its root or whole), related as rId1, rId2, ..."""
    folder, _, name = main.rpartition("/")
    roots = {"styles": "styles", "numbering": "numbering", "header": "hdr", "footer": "ftr", "settings": "settings"}
    members: dict[str, str | bytes] = {
        "[Content_Types].xml": "<Types/>",
        "_rels/.rels": relations(("officeDocument", main)),
        f"{folder}/_rels/{name}.rels": relations(*((kind, target) for kind, target, _ in parts)),
        main: f"<w:document {SPACES}><w:body>{body}</w:body></w:document>",
    }
    for kind, target, xml in parts:
        root = roots.get(kind, kind)
        members[f"{folder}/{target}"] = xml if xml.startswith("<?") else f"<w:{root} {SPACES}>{xml}</w:{root}>"
    return archive(members)


def read(data: bytes, name: str = "letter.docx", limits: Limits | None = None) -> Extract:
    return docx.read(Source(name, data, limits=limits or Limits()))


def text(body: str, *parts: tuple[str, str, str]) -> str:
    extract = read(word(body, *parts))
    assert extract.warnings == ()
    return extract.pages[0].text


STYLES = (
    "styles",
    "styles.xml",
    (
        '<w:style w:type="paragraph" w:styleId="berschrift1"><w:name w:val="heading 1"/><w:pPr>'
        '<w:outlineLvl w:val="0"/></w:pPr></w:style>'
        '<w:style w:type="paragraph" w:styleId="Own"><w:name w:val="Clause"/>'
        '<w:basedOn w:val="berschrift1"/><w:pPr><w:numPr><w:numId w:val="2"/></w:numPr></w:pPr></w:style>'
        '<w:style w:type="paragraph" w:styleId="T"><w:name w:val="Title"/></w:style>'
        '<w:style w:type="paragraph" w:styleId="Toc"><w:name w:val="toc 2"/></w:style>'
        '<w:style w:type="paragraph" w:styleId="Loop"><w:basedOn w:val="Loop"/></w:style>'
        '<w:style w:type="character" w:styleId="Gone"><w:rPr><w:vanish/></w:rPr></w:style>'
    ),
)
NUMBERING = (
    "numbering",
    "numbering.xml",
    (
        '<w:abstractNum w:abstractNumId="0">'
        '<w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:lvlText w:val="%1."/></w:lvl>'
        '<w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="lowerLetter"/><w:lvlText w:val="%1.%2)"/></w:lvl>'
        '<w:lvl w:ilvl="2"><w:numFmt w:val="bullet"/><w:lvlText w:val="o"/></w:lvl></w:abstractNum>'
        '<w:abstractNum w:abstractNumId="1"><w:lvl w:ilvl="0"><w:start w:val="4"/><w:numFmt w:val="upperRoman"/>'
        '<w:lvlText w:val="Article %1"/></w:lvl><w:lvl w:ilvl="1"><w:numFmt w:val="decimal"/><w:isLgl/>'
        '<w:pStyle w:val="Sub"/><w:lvlText w:val="%1.%2"/></w:lvl></w:abstractNum>'
        '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
        '<w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num>'
        '<w:num w:numId="3"><w:abstractNumId w:val="0"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="1"/>'
        "</w:lvlOverride></w:num>"
    ),
)


def style(name: str) -> str:
    return f'<w:pStyle w:val="{name}"/>'


def test_paragraphs_tabs_and_breaks() -> None:
    assert text(paragraph("one ", "two") + paragraph() + paragraph("three")) == "one two\n\nthree"
    body = "<w:p><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t><w:cr/><w:t>d</w:t></w:r></w:p>"
    assert text(body) == "a\tb\nc\nd"
    assert text("<w:p><w:r><w:t>day</w:t><w:noBreakHyphen/><w:t>to</w:t><w:softHyphen/><w:t>day</w:t></w:r></w:p>") == (
        "day-today"
    )
    assert (
        text('<w:p><w:pPr><w:tabs><w:tab w:val="left" w:pos="9"/></w:tabs></w:pPr><w:r><w:t>x</w:t></w:r></w:p>') == "x"
    )
    assert text(paragraph("    if x:") + paragraph("two  blanks")) == "    if x:\n\ntwo  blanks"


def test_headings_by_style_by_level_and_by_inheritance() -> None:
    body = (
        paragraph("Report", properties=style("T"))
        + paragraph("First", properties=style("berschrift1"))
        + paragraph("text", properties=style("Loop"))
        + paragraph("Deep", properties='<w:outlineLvl w:val="2"/>')
        + paragraph("Not one", properties=style("berschrift1") + '<w:outlineLvl w:val="9"/>')
    )
    assert text(body, STYLES) == "# Report\n\n# First\n\ntext\n\n### Deep\n\nNot one"


def test_numbers_stand_where_word_writes_them() -> None:
    body = (
        numbered("a") + numbered("b", 1) + numbered("c", 1) + numbered("d", 2) + paragraph("between")
        + numbered("e") + numbered("f", 1) + numbered("new", number=3)
    )  # fmt: skip
    assert text(body, NUMBERING) == ("1. a\n  1.a) b\n  1.b) c\n    - d\n\nbetween\n\n2. e\n  2.a) f\n1. new")


def test_numbers_that_come_with_a_style() -> None:
    body = (
        paragraph("Scope", properties=style("Own"))
        + paragraph("no number", properties=style("Own") + '<w:numPr><w:numId w:val="0"/></w:numPr>')
        + paragraph("Terms", properties=style("Own"))
        + numbered("Notice", 1, 2)
    )
    assert text(body, STYLES, NUMBERING) == ("# Article IV Scope\n\n# no number\n\n# Article V Terms\n\n  5.1 Notice")


def test_contents_stay_together() -> None:
    body = paragraph("1 One\t3", properties=style("Toc")) + paragraph("2 Two\t5", properties=style("Toc"))
    assert text(body, STYLES) == "  1 One\t3\n  2 Two\t5"


def test_tables() -> None:
    body = paragraph("before") + table(
        cell("Item", properties='<w:gridSpan w:val="2"/>') + cell("Price"),
        cell("Oak", properties='<w:vMerge w:val="restart"/>') + cell("small", "one") + cell("12"),
        cell("", properties="<w:vMerge/>") + cell("large") + cell("20"),
    )
    assert text(body + paragraph("after")) == (
        "before\n\nItem |  | Price\nOak | small one | 12\nOak | large | 20\n\nafter"
    )
    assert text(table(cell("a") + cell(table(cell("1") + cell("2"), cell("3") + cell("4")) + paragraph()))) == (
        "a\n1 | 2\n3 | 4"
    )


def test_tracked_changes_are_accepted() -> None:
    deleted = '<w:del w:id="1"><w:r><w:delText>thirty</w:delText></w:r></w:del>'
    inserted = f'<w:ins w:id="2">{run("forty-five")}</w:ins>'
    assert text(paragraph("after ", deleted, inserted, " days")) == "after forty-five days"
    moved = f'<w:moveFrom w:id="3">{run("old place")}</w:moveFrom>'
    arrived = f'<w:moveTo w:id="4">{run("new place")}</w:moveTo>'
    assert text(paragraph(moved, "x ") + paragraph(arrived)) == "x\n\nnew place"
    gone = "<w:tr><w:trPr><w:del w:id='5'/></w:trPr>" + cell("gone") + "</w:tr>"
    assert text(f"<w:tbl>{gone}<w:tr>{cell('kept')}{cell('too')}</w:tr></w:tbl>") == "kept | too"
    former = '<w:rPrChange w:id="6"><w:rPr><w:vanish/></w:rPr></w:rPrChange>'
    assert text(paragraph(run("seen", former))) == "seen"


def test_a_deleted_numbered_paragraph_is_not_counted() -> None:
    mark = '<w:numPr><w:numId w:val="1"/></w:numPr><w:rPr><w:del w:id="1"/></w:rPr>'
    removed = paragraph('<w:del w:id="2"><w:r><w:delText>b</w:delText></w:r></w:del>', properties=mark)
    assert text(numbered("a") + removed + numbered("c"), NUMBERING) == "1. a\n2. c"


def test_fields_show_their_results() -> None:
    begin, separate, end = (f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>' for kind in ("begin", "separate", "end"))
    instruction = "<w:r><w:instrText> HYPERLINK x </w:instrText></w:r>"
    assert text(paragraph("see ", begin, instruction, separate, "page 4", end, ".")) == "see page 4."
    inner = begin + instruction + separate + run("no") + end
    assert text(paragraph(begin, inner, separate, "yes", end)) == "yes"
    assert text(paragraph(f'<w:fldSimple w:instr="DATE">{run("1 May")}</w:fldSimple>')) == "1 May"
    ticked = '<w:ffData><w:checkBox><w:default w:val="0"/><w:checked/></w:checkBox></w:ffData>'
    entries = '<w:result w:val="1"/><w:listEntry w:val="A"/><w:listEntry w:val="B"/>'
    choices = f"<w:ffData><w:ddList>{entries}</w:ddList></w:ffData>"
    box = f'<w:r><w:fldChar w:fldCharType="begin">{ticked}</w:fldChar></w:r>' + end
    menu = f'<w:r><w:fldChar w:fldCharType="begin">{choices}</w:fldChar></w:r>' + end
    assert text(paragraph(box, " agreed: ", menu)) == "[x] agreed: B"


def test_a_field_without_an_end_is_told() -> None:
    extract = read(word(paragraph('<w:r><w:fldChar w:fldCharType="begin"/></w:r>', "text")))
    assert extract.pages[0].text == "text"
    assert "a field without an end" in extract.warnings[0]


def test_links_controls_and_other_wrappers() -> None:
    link = f'<w:hyperlink r:id="rId9">{run("the link")}</w:hyperlink>'
    control = f"<w:sdt><w:sdtPr><w:alias w:val='x'/></w:sdtPr><w:sdtContent>{run('filled in')}</w:sdtContent></w:sdt>"
    smart = f'<w:smartTag w:element="place">{run("Bergen")}</w:smartTag>'
    assert text(paragraph(link, ", ", control, ", ", smart)) == "the link, filled in, Bergen"
    block = f"<w:sdt><w:sdtContent>{paragraph('whole')}</w:sdtContent></w:sdt>"
    assert text(block + f"<w:customXml>{paragraph('wrapped')}</w:customXml>") == "whole\n\nwrapped"


def test_text_boxes_are_read_once_after_their_paragraph() -> None:
    content = f"<w:txbxContent>{paragraph('boxed')}</w:txbxContent>"
    modern = f'<mc:Choice Requires="wps"><w:drawing><wps:txbx>{content}</wps:txbx></w:drawing></mc:Choice>'
    old = f"<mc:Fallback><w:pict><v:textbox>{content}</v:textbox></w:pict></mc:Fallback>"
    anchored = f"<w:r><mc:AlternateContent>{modern}{old}</mc:AlternateContent></w:r>"
    assert text(paragraph("be", anchored, "fore") + paragraph("after")) == "before\n\nboxed\n\nafter"
    assert text(paragraph(f"<w:r><w:pict><v:textbox>{content}</v:textbox></w:pict></w:r>")) == "boxed"


def test_notes_follow_the_text() -> None:
    reference = '<w:r><w:footnoteReference w:id="{}"/></w:r>'
    notes = (
        f'<w:footnote w:id="-1" w:type="separator">{paragraph("no")}</w:footnote>'
        f'<w:footnote w:id="7">{paragraph("<w:r><w:footnoteRef/></w:r>", "second")}</w:footnote>'
        f'<w:footnote w:id="5">{paragraph("first")}{paragraph("more")}</w:footnote>'
        f'<w:footnote w:id="9">{paragraph("never referred to")}</w:footnote>'
    )
    end = f'<w:endnote w:id="2">{paragraph("at the end")}</w:endnote>'
    body = paragraph(
        "one", reference.format(5), " two", reference.format(7), '<w:r><w:endnoteReference w:id="2"/></w:r>'
    )
    assert text(body, ("footnotes", "footnotes.xml", notes), ("endnotes", "endnotes.xml", end)) == (
        "one[1] two[2][i]\n\n[1] first\n\n  more\n[2] second\n\n[i] at the end"
    )


def test_comments_name_their_author_and_what_they_are_about() -> None:
    comment = f'<w:comment w:id="3" w:author="A. Berg">{paragraph("too short")}</w:comment>'
    start, end = '<w:commentRangeStart w:id="3"/>', '<w:commentRangeEnd w:id="3"/>'
    assert text(
        paragraph("leave after ", start, "thirty", " days", end, "."), ("comments", "comments.xml", comment)
    ) == ("leave after thirty days.\n\n[Comment by A. Berg on “thirty days”] too short")


def test_headers_and_footers_that_show_stand_once() -> None:
    def reference(kind: str, relation: int, pages: str) -> str:
        return f'<w:{kind}Reference w:type="{pages}" r:id="rId{relation}"/>'

    parts = (
        ("header", "header1.xml", paragraph("Contract 88")),
        ("footer", "footer1.xml", paragraph("Page 1")),
        ("header", "header2.xml", paragraph("Contract 88")),
        ("header", "header3.xml", paragraph("even only")),
        ("header", "header4.xml", paragraph("first only")),
    )
    section = f"<w:sectPr>{reference('header', 1, 'default')}{reference('footer', 2, 'default')}{{}}</w:sectPr>"
    body = paragraph("a", properties=section.format("")) + paragraph("b")
    hidden = reference("header", 4, "even") + reference("header", 5, "first")
    assert text(body + section.format(reference("header", 3, "default") + hidden), *parts) == (
        "Contract 88\n\na\n\nb\n\nPage 1"
    )
    settings = ("settings", "settings.xml", "<w:evenAndOddHeaders/>")
    assert text(body + section.format(hidden + "<w:titlePg/>"), *parts, settings) == (
        "Contract 88\n\neven only\n\nfirst only\n\na\n\nb\n\nPage 1"
    )


def test_how_text_looks_where_it_matters() -> None:
    body = paragraph(
        "10", run("6", '<w:vertAlign w:val="superscript"/>'), " 1", run("st", '<w:vertAlign w:val="superscript"/>'),
        run(" old", "<w:strike/>"), run(" price", "<w:strike/>"), run(" new", '<w:strike w:val="0"/>'),
    )  # fmt: skip
    assert text(body, STYLES) == "10⁶ 1st~~ old price~~ new"
    hidden = paragraph("seen", run(" hidden", "<w:vanish/>"), run(" gone", '<w:rStyle w:val="Gone"/>'))
    extract = read(word(hidden, STYLES))
    assert (extract.pages[0].text, extract.warnings) == ("seen", ("hidden text left out (marked as hidden): 2 words",))


def test_symbols_of_special_fonts() -> None:
    signs = '<w:r><w:sym w:font="Wingdings" w:char="F0FC"/><w:sym w:font="Symbol" w:char="F062"/></w:r>'
    assert text(paragraph(signs, "<w:r><w:sym w:font='Arial' w:char='2190'/></w:r>")) == "✓β←"
    extract = read(word(paragraph('<w:r><w:sym w:font="House Font" w:char="F041"/></w:r>')))
    assert extract.pages[0].text == "\ufffd"
    assert "House Font" in extract.warnings[0]


def test_formulas_keep_their_meaning_on_one_line() -> None:
    def r(sign: str) -> str:
        return f"<m:r><m:t>{sign}</m:t></m:r>"

    half = f"<m:f><m:num>{r('a+b')}</m:num><m:den>{r('2')}</m:den></m:f>"
    power = f"<m:sSup><m:e>{r('x')}</m:e><m:sup>{r('n+1')}</m:sup></m:sSup>"
    root = f"<m:rad><m:radPr/><m:deg/><m:e>{r('y+z')}</m:e></m:rad>"
    total = (
        f'<m:nary><m:naryPr><m:chr m:val="∑"/></m:naryPr><m:sub>{r("i=1")}</m:sub><m:sup>{r("n")}</m:sup>'
        f"<m:e>{r('i')}</m:e></m:nary>"
    )
    bracket = f'<m:d><m:dPr><m:begChr m:val="["/><m:endChr m:val="]"/></m:dPr><m:e>{r("p")}</m:e></m:d>'
    body = paragraph(f"<m:oMath>{half}{r('=')}{power}{r('+')}{root}{r('+')}{total}{bracket}</m:oMath>")
    assert text(body) == "(a+b)/2=x^(n+1)+√(y+z)+∑_(i=1)^ni[p]"


def test_ruby_pictures_and_word_art() -> None:
    ruby = f"<w:r><w:ruby><w:rt>{run('kan')}</w:rt><w:rubyBase>{run('漢')}</w:rubyBase></w:ruby></w:r>"
    picture = '<w:r><w:drawing><wp:docPr id="1" name="p" descr="A red&#10;door"/></w:drawing></w:r>'
    art = '<w:r><w:pict><v:shape><v:textpath string="SALE"/></v:shape></w:pict></w:r>'
    assert text(paragraph(ruby, " ", picture, " ", art)) == "漢(kan) [image: A red door] SALE"


def test_charts_and_diagrams() -> None:
    series = (
        "<c:ser><c:tx><c:v>Sales</c:v></c:tx><c:cat><c:v>2023</c:v><c:v>2024</c:v></c:cat>"
        "<c:val><c:v>5</c:v><c:v>7</c:v></c:val></c:ser>"
    )
    chart = f"<?xml version='1.0'?><c:chartSpace {SPACES}><a:p><a:t>By year</a:t></a:p>{series}</c:chartSpace>"
    points = "<a:p><a:t>Plan</a:t></a:p><a:p><a:t>Do</a:t></a:p>"
    diagram = f"<?xml version='1.0'?><dgm:dataModel {SPACES}>{points}</dgm:dataModel>"
    body = paragraph("see", '<w:r><c:chart r:id="rId1"/><dgm:relIds r:dm="rId2"/></w:r>')
    assert text(body, ("chart", "chart1.xml", chart), ("diagramData", "data1.xml", diagram)) == (
        "see\n\nBy year\nSales: 2023 5, 2024 7\n\nPlan\nDo"
    )


def test_other_editions_and_places_of_the_parts() -> None:
    space = "http://purl.oclc.org/ooxml/wordprocessingml/main"
    body = f'<w:document xmlns:w="{space}"><w:body><w:p><w:r><w:t>s</w:t></w:r></w:p></w:body></w:document>'
    kind = "http://purl.oclc.org/ooxml/officeDocument/relationships/officeDocument"
    entry = f'<Relationship Id="a" Type="{kind}" Target="/Word/Main%20One.xml"/>'
    rels = f'<Relationships xmlns="{RELATIONS}">{entry}</Relationships>'
    assert read(archive({"_rels/.rels": rels, "Word/Main One.xml": body})).pages[0].text == "s"
    assert read(archive({"word\\document.xml": body})).pages[0].text == "s"


def test_damage_beside_the_text_is_told_and_the_text_is_read() -> None:
    reference = paragraph("body", '<w:r><w:footnoteReference w:id="1"/></w:r>')
    extract = read(
        word(reference, ("footnotes", "n.xml", "<?xml version='1.0'?><broken"), ("styles", "s.xml", "<?bad"))
    )
    assert extract.pages[0].text == "body[1]"
    assert len(extract.warnings) == 2
    assert any("footnotes not read" in warning for warning in extract.warnings)
    imported = read(
        word(paragraph("x") + '<w:altChunk r:id="rId1"/>', ("aFChunk", "a.rtf", "<?xml version='1.0'?><a/>"))
    )
    assert "another document inside this one is not read" in imported.warnings[0]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (word(""), "without text"),
        (archive({"other.txt": "x"}), "no main document"),
        (archive({"word/document.xml": "<w:document"}), "damaged"),
        (archive({"word/document.xml": "<!DOCTYPE d [<!ENTITY a 'b'>]><d>&a;</d>"}), "declares a document type"),
        (word("<w:p>" * 2_000 + "</w:p>" * 2_000), "nested deeper than the limit of 1,000"),
        (bytes.fromhex("D0CF11E0A1B11AE1") + "EncryptedPackage".encode("utf-16-le"), "encrypted with a password"),
        (bytes.fromhex("D0CF11E0A1B11AE1") + "WordDocument".encode("utf-16-le"), r"old format \(\.doc\)"),
        (bytes.fromhex("D0CF11E0A1B11AE1") + b"\0" * 600, "another office format"),
    ],
)
def test_refused_by_name(data: bytes, reason: str) -> None:
    with pytest.raises(UnreadableError, match=reason):
        read(data)


def test_limits_hold() -> None:
    with pytest.raises(UnreadableError, match="more than the limit of 1,000 characters"):
        read(word(paragraph("x" * 2_000)), limits=Limits(document_characters=1_000))
    wide = table(*(cell("a", properties='<w:gridSpan w:val="1000"/>') + cell("b") for _ in range(200)))
    with pytest.raises(UnreadableError, match="more than the limit"):
        read(word(wide), limits=Limits(document_characters=100_000))


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("letter", word(paragraph("x")), True),
        ("letter.zip", archive({"[Content_Types].xml": "application/x.wordprocessingml.document.main+xml"}), True),
        ("letter.docx", archive({"a.txt": "x"})[:40], True),
        ("letter.docx", b"plain text", False),
        ("book.zip", archive({"a.txt": "x"}), False),
        ("sheet.xlsx", archive({"xl/workbook.xml": "x"}), False),
        ("old.doc", bytes.fromhex("D0CF11E0A1B11AE1"), True),
        ("mail.msg", bytes.fromhex("D0CF11E0A1B11AE1"), True),
        ("book.xls", bytes.fromhex("D0CF11E0A1B11AE1"), False),
    ],
)
def test_what_counts_as_a_word_document(name: str, data: bytes, expected: bool) -> None:
    assert docx.matches(Source(name, data)) is expected


def test_one_page_and_its_media_type() -> None:
    extract = read(word(paragraph("x")))
    assert [(page.number, page.text) for page in extract.pages] == [(1, "x")]
    assert extract.media_type == docx.MEDIA_TYPE
    assert extract.encoding is None
