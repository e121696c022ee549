"""Web pages saved as one file (.mht): the page is read, not what was saved with it to draw it."""

from __future__ import annotations

import pytest

from spsl_cli.documents import mail
from spsl_cli.documents.source import Source
from tests.unit.test_documents_mail import multi, part

HEAD = b"From: <Saved by Blink>\r\nSnapshot-Content-Location: https://x.example/\r\nSubject: Tides\r\n"
PAGE = part(
    "<title>Tides</title><p>High =\r\nwater =3D nine<p hidden>no",
    "text/html",
    "Content-Transfer-Encoding: quoted-printable",
)
STYLE = part("p { color: red }", "text/css", "Content-Location: cid:css@mhtml.blink")
SCRIPT = part("alert(1)", "application/javascript", "Content-Location: https://x.example/a.js")
PICTURE = part(
    "iVBORw0KGgo=", "image/png", "Content-Transfer-Encoding: base64", "Content-Location: https://x.example/a.png"
)


@pytest.mark.parametrize("name", ["page.mht", "page.MHTML"])
def test_the_words_of_the_page(name: str) -> None:
    extract = mail.read(Source(name, HEAD + multi("related", PAGE, STYLE, SCRIPT, PICTURE)))
    assert extract.pages[0].text == "From: <Saved by Blink>\nSubject: Tides\n\nTides\n\nHigh water = nine\n"
    assert extract.warnings == ("hidden text left out (marked as hidden): 1 word",)


def test_it_is_known_by_its_name() -> None:
    assert mail.matches(Source("page.mht", HEAD))
    assert mail.matches(Source("page.mhtml", HEAD))


def test_in_a_message_they_stay_named() -> None:
    extract = mail.read(Source("page.eml", HEAD + multi("related", PAGE, PICTURE)))
    assert "[Attachment, not read: image/png, 8 bytes]" in extract.pages[0].text
