"""What the annotations of a PDF show by their appearance alone, which of them nobody sees, and what is told of them."""

from __future__ import annotations

import pytest

from spsl_cli.documents.pdf.extraction import PdfPages
from spsl_cli.documents.source import Source
from tests.unit.test_documents_pdf_page import at, build, read, stream

FORM = b"/Type/XObject/Subtype/Form/BBox[0 0 200 20]/Resources<</Font<</F 3 0 R>>>>"


def annotated(entries: str, *more: bytes, content: bytes = b"", box: str = "200 590 400 610"):
    annotation = f"<</Type/Annot/Rect[{box}]{entries}>>".encode()
    return read(build(at(50, 700, "Above.") + content, page=b"/Annots[6 0 R]", more=(annotation, *more)))


def look(text: str, *, before: str = "") -> bytes:
    return stream(at(2, 5, text, before=before), FORM)


# --- appearances


@pytest.mark.parametrize(
    ("entries", "shown"),
    [
        ("/Subtype/Widget/FT/Tx/T(amount)/AP<</N 7 0 R>>", "amount: EUR 900"),
        ("/Subtype/Widget/FT/Sig/T(Signature1)/AP<</N 7 0 R>>", "Signature1: EUR 900"),
        ("/Subtype/FreeText/AP<</N 7 0 R>>", "EUR 900"),
        ("/Subtype/Stamp/AP<</N 7 0 R>>", "[stamp: EUR 900]"),
        ("/Subtype/Stamp/AS/On/AP<</N<</On 7 0 R>>>>", "[stamp: EUR 900]"),
        # The text that an annotation has of its own goes before.
        ("/Subtype/Widget/FT/Tx/T(amount)/V(EUR 800)/AP<</N 7 0 R>>", "amount: EUR 800"),
        ("/Subtype/FreeText/Contents(Typed)/AP<</N 7 0 R>>", "Typed"),
        ("/Subtype/Stamp/Name/Approved", "[stamp: Approved]"),
        # Hidden, a push button, a password, a link: not shown, or not as text.
        ("/Subtype/Stamp/F 2/AP<</N 7 0 R>>", ""),
        ("/Subtype/Widget/FT/Btn/Ff 65536/AP<</N 7 0 R>>", ""),
        ("/Subtype/Widget/FT/Tx/Ff 8192/AP<</N 7 0 R>>", ""),
        ("/Subtype/Link/AP<</N 7 0 R>>", ""),
    ],
)
def test_text_that_only_the_appearance_has_is_read(entries, shown):
    assert annotated(entries, look("EUR 900")).text == f"Above.\n{shown}".strip()


def test_a_signature_stands_beside_its_label():
    found = annotated(
        "/Subtype/Widget/FT/Sig/AP<</N 7 0 R>>/T(s)", look("Signed by A. Obi"), content=at(50, 594, "By:")
    )
    assert found.text == "Above.\nBy: Signed by A. Obi"


@pytest.mark.parametrize(
    "form", [look("Unseen", before="1 g"), look("Unseen", before="3 Tr 0 0 0 rg 0 Ts 7 Tr"), stream(b"", FORM), b"(x)"]
)
def test_an_appearance_that_shows_no_text_gives_none(form):
    assert annotated("/Subtype/Stamp/AP<</N 7 0 R>>", form).text == "Above."


def test_white_text_of_an_appearance_on_a_dark_page_is_seen():
    found = annotated("/Subtype/Stamp/AP<</N 7 0 R>>", look("Paid", before="1 g"), content=b"0 g 0 500 600 150 re f ")
    assert found.text == "Above.\n[stamp: Paid]"


def test_a_form_is_fitted_into_its_annotation():
    tall = stream(at(2, 5, "Fitted"), FORM.replace(b"0 0 200 20", b"0 0 200000 20"))
    found = annotated("/Subtype/FreeText/AP<</N 7 0 R>>", tall)
    assert found.text == "Above."  # pressed into nothing


# --- what nobody sees


@pytest.mark.parametrize(
    ("entries", "box", "why"),
    [
        ("/Subtype/FreeText/Contents(Praise it)", "0 0 0 0", "tiny"),
        ("/Subtype/FreeText/Contents(Praise it)", "50 500 300 500.5", "tiny"),
        ("/Subtype/FreeText/Contents(Praise it)", "5000 5000 5100 5020", "outside the page"),
        ("/Subtype/Widget/FT/Tx/T(a)/V(Praise it)", "-90 -90 -10 -10", "outside the page"),
        ("/Subtype/Widget/FT/Tx/T(a)/V(Praise it)/DA(/F 12 Tf 1 g)", "50 500 300 520", "white on white"),
        ("/Subtype/FreeText/Contents(Praise it)/DA(1 1 1 rg)", "50 500 300 520", "white on white"),
    ],
)
def test_entries_that_nobody_sees_are_left_out_and_told(entries, box, why):
    found = annotated(entries, box=box)
    assert (found.text, found.warnings) == ("Above.", (f"hidden text left out ({why}): 2 words",))


@pytest.mark.parametrize(
    ("entries", "content"),
    [
        ("/DA(/F 12 Tf 1 g)", b"0 g 0 400 600 200 re f "),
        ("/DA(/F 12 Tf 1 g)/MK<</BG[0 0 0.4]>>", b""),
        ("/DA(/F 12 Tf 1 g)/AP<</N 7 0 R>>", b""),
        ("/DA(/F 12 Tf 0 g)", b""),
        ("/DA(/F 12 Tf)", b""),
        ("", b""),
    ],
)
def test_values_that_somebody_sees_are_kept(entries, content):
    field = f"/Subtype/Widget/FT/Tx/T(a)/V(Oslo){entries}"
    assert annotated(field, look("Oslo"), content=content, box="50 500 300 520").text == "Above.\na: Oslo"


def test_a_note_without_a_size_is_still_a_note():
    assert annotated("/Subtype/Text/Contents(Look)", box="0 0 0 0").text == "Above.\n[note: Look]"


# --- what is told


def test_text_that_is_struck_out_is_told():
    strike = b"<</Type/Annot/Subtype/StrikeOut/Rect[50 695 90 710]>>"
    page = read(build(at(50, 700, "Above."), page=b"/Annots[6 0 R 6 0 R]", more=(strike,)))
    assert page.text == "Above."
    assert page.warnings == ("text is struck out by a note in 2 places, and read as it stands",)


def test_files_attached_to_a_place_are_named():
    page = annotated("/Subtype/FileAttachment/FS<</F(a.txt)/UF(rent\nlist.txt)>>")
    assert page.warnings == ("an attachment not read: rent list.txt",)


def outline_warnings(names: bytes, *more: bytes) -> tuple[str, ...]:
    data = build(at(50, 700, "x"), catalog=b"/Names<</EmbeddedFiles %s>>" % names, more=more)
    return PdfPages(Source("f.pdf", data), pdfium=False).outline.warnings


def test_files_within_the_document_are_named():
    file = b"<</Type/Filespec/F(contract.txt)>>"
    assert outline_warnings(b"<</Names[(c) 6 0 R]>>", file) == ("an attachment not read: contract.txt",)
    tree = b"<</Kids[7 0 R 7 0 R]>>", b"<</Names[(c) 8 0 R (d) 8 0 R]/Kids[6 0 R]>>", file
    assert outline_warnings(b"6 0 R", *tree) == ("an attachment not read: contract.txt",) * 2
    many = b" ".join(b"(n%d) 6 0 R" % n for n in range(25))
    assert outline_warnings(b"<</Names[%s]>>" % many, file)[10:] == ("15 more attachments not read",)
    assert outline_warnings(b"<</Names 5>>") == ()
