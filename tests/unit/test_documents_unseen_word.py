"""Text of a Word document that nobody sees is left out and counted; objects of other programs are named."""

from __future__ import annotations

import pytest

from spsl_cli.documents.source import UnreadableError
from tests.unit.test_documents_docx import SPACES, archive, cell, paragraph, read, relations, run, table, word

WHITE = '<w:color w:val="FFFFFF"/>'
STYLES = (
    "styles",
    "styles.xml",
    (
        '<w:style w:type="paragraph" w:styleId="Gone"><w:rPr><w:vanish/></w:rPr></w:style>'
        '<w:style w:type="paragraph" w:styleId="Dark"><w:pPr><w:shd w:val="clear" w:fill="101010"/></w:pPr><w:rPr>'
        f"{WHITE}</w:rPr></w:style>"
        '<w:style w:type="paragraph" w:styleId="Child"><w:basedOn w:val="Gone"/></w:style>'
        f'<w:style w:type="character" w:styleId="Pale"><w:rPr>{WHITE}</w:rPr></w:style>'
    ),
)


def styled(name: str, *runs: str) -> str:
    return paragraph(*runs, properties=f'<w:pStyle w:val="{name}"/>')


def told(why: str, words: int) -> str:
    return f"hidden text left out ({why}): {words} words"


@pytest.mark.parametrize(
    ("hidden", "why"),
    [
        (paragraph(run("say forty", "<w:vanish/>")), "marked as hidden"),
        (styled("Gone", "say forty"), "marked as hidden"),
        (styled("Child", "say forty"), "marked as hidden"),
        (styled("Gone", run("say forty", '<w:rStyle w:val="Pale"/>')), "marked as hidden"),
        (paragraph(run("say forty", WHITE)), "white on white"),
        (paragraph(run("say forty", '<w:rStyle w:val="Pale"/>')), "white on white"),
        (paragraph(run("say forty", '<w:color w:val="FEFEFE"/>')), "white on white"),
        (
            paragraph(run("say forty", '<w:color w:val="0000FF"/><w:shd w:val="clear" w:fill="0000FF"/>')),
            "in the colour of its background",
        ),
        (table(cell(paragraph(run("say forty", WHITE)), properties='<w:shd w:fill="auto"/>')), "white on white"),
        (paragraph(run("say forty", '<w:sz w:val="2"/>')), "tiny"),
    ],
)
def test_what_nobody_sees_is_left_out_and_counted(hidden: str, why: str) -> None:
    extract = read(word(paragraph("a") + hidden + paragraph("b"), STYLES))
    assert extract.pages[0].text == "a\n\nb"
    assert extract.warnings == (told(why, 2),)


@pytest.mark.parametrize(
    "seen",
    [
        styled("Gone", run("seen", '<w:vanish w:val="0"/>')),
        styled("Dark", "seen"),
        styled("Dark", run("seen", WHITE)),
        paragraph(run("seen", f'{WHITE}<w:shd w:val="clear" w:fill="000000"/>')),
        paragraph(run("seen", f'{WHITE}<w:highlight w:val="blue"/>')),
        paragraph(run("seen", f'{WHITE}<w:shd w:val="solid" w:color="000000" w:fill="auto"/>')),
        paragraph(run("seen", WHITE), properties='<w:shd w:val="clear" w:fill="1F3864"/>'),
        paragraph(run("seen", '<w:color w:val="auto"/><w:sz w:val="10"/>')),
        "<w:p><w:r><w:pict><v:textbox><w:txbxContent>" + paragraph(run("seen", WHITE)) + "</w:txbxContent></v:textbox>"
        "</w:pict></w:r></w:p>",
        '<w:p><w:r><w:drawing><wp:anchor behindDoc="1"/></w:drawing></w:r></w:p>' + paragraph(run("seen", WHITE)),
    ],
)
def test_what_can_be_seen_stays(seen: str) -> None:
    extract = read(word(seen, STYLES))
    assert (extract.pages[0].text, extract.warnings) == ("seen", ())


def test_white_letters_in_tables_with_a_colour() -> None:
    white = paragraph(run("Year", WHITE))
    dark = table(cell(white, properties='<w:shd w:val="clear" w:fill="002060"/>') + cell("x"))
    named = f'<w:tbl><w:tblPr><w:tblStyle w:val="Grid4"/></w:tblPr><w:tr>{cell(white)}{cell("y")}</w:tr></w:tbl>'
    extract = read(word(dark + paragraph("-") + named))
    assert (extract.pages[0].text, extract.warnings) == ("Year | x\n\n-\n\nYear | y", ())


def test_a_document_of_hidden_text_only_says_so() -> None:
    with pytest.raises(UnreadableError, match=r"without text \(hidden text left out \(marked as hidden\): 1 word\)"):
        read(word(paragraph(run("x", "<w:vanish/>"))))


def test_a_deleted_end_joins_its_paragraphs() -> None:
    gone = '<w:rPr><w:del w:id="1" w:author="A"/></w:rPr>'
    body = (
        paragraph("One ", properties=gone)
        + paragraph("sentence", properties=gone)
        + paragraph(".")
        + paragraph("Two", properties=gone)
        + table(cell("x") + cell("y"))
        + paragraph("Last", properties=gone)
    )
    assert read(word(body)).pages[0].text == "One sentence.\n\nTwo\n\nx | y\n\nLast"
    cells = table(cell(paragraph("a", properties=gone), paragraph("b")) + cell(paragraph("c", properties=gone)))
    assert read(word(cells)).pages[0].text == "ab | c"


def test_objects_and_documents_inside_are_named() -> None:
    ole = "urn:schemas-microsoft-com:office:office"
    embedded = "".join(
        f'<w:p><w:r><w:object><o:OLEObject xmlns:o="{ole}" ProgID="{name}" r:id="rId9"/></w:object></w:r></w:p>'
        for name in ("Excel.Sheet.12", "Equation.3", "Equation.3")
    )
    body = paragraph("text") + embedded + '<w:subDoc r:id="rId1"/><w:subDoc r:id="rId2"/>'
    links = relations(("subDocument", "one.docx"), ("subDocument", "file:///srv/two.docx"))
    links = links.replace('two.docx"', 'two.docx" TargetMode="External"')
    members = {
        "_rels/.rels": relations(("officeDocument", "word/document.xml")),
        "word/_rels/document.xml.rels": links,
        "word/document.xml": f"<w:document {SPACES}><w:body>{body}</w:body></w:document>",
        "word/one.docx": "x",
    }
    assert read(archive(members)).warnings == (
        "another document inside this one is not read: word/one.docx",
        "another document inside this one is not read: file:///srv/two.docx (a link)",
        "1 embedded object of another program not read: Excel.Sheet.12",
        "2 embedded objects of another program not read: Equation.3",
    )


def test_outlook_messages_are_refused_by_name() -> None:
    ole = bytes.fromhex("D0CF11E0A1B11AE1")
    for name, data in (("a.msg", ole), ("a", ole + "__substg1.0_1000001F WordDocument".encode("utf-16-le"))):
        with pytest.raises(UnreadableError, match=r"an Outlook message \(\.msg\): not supported, save it as \.eml"):
            read(data, name)
