"""E-mail: headers and bodies decoded, which form of the words is shown, attachments, several messages in one file."""

from __future__ import annotations

import base64
import quopri

import pytest

from spsl_cli.documents import mail
from spsl_cli.documents.mime.letters import header, letters, unflowed
from spsl_cli.documents.source import Extract, Source, UnreadableError

HEAD = b"From: ann@a.example\r\nTo: bob@b.example\r\nDate: Tue, 05 May 2026 09:30:00 +0200\r\nSubject: Tides\r\n"
SHOWN = "From: ann@a.example\nTo: bob@b.example\nDate: Tue, 05 May 2026 09:30:00 +0200\nSubject: Tides\n"
PDF = base64.b64encode(b"%PDF-1.4\n" + bytes(range(256)))


def part(body: str | bytes, content_type: str = "text/plain; charset=utf-8", *headers: str) -> bytes:
    head = "\r\n".join([f"Content-Type: {content_type}", *headers]).encode()
    return head + b"\r\n\r\n" + (body.encode() if isinstance(body, str) else body)


def multi(kind: str, *parts: bytes, boundary: str = "b1", closed: bool = True) -> bytes:
    head = f'Content-Type: multipart/{kind}; boundary="{boundary}"\r\n\r\nFor old programs.\r\n'.encode()
    sign = b"\r\n--" + boundary.encode()
    return head + b"".join(sign + b"\r\n" + each for each in parts) + (sign + b"--\r\n" if closed else b"")


def read(data: bytes, name: str = "file.eml") -> Extract:
    return mail.read(Source(name, data))


def body(rest: bytes) -> str:
    """What is shown below the headers of a message about which nothing is warned."""
    extract = read(HEAD + rest)
    assert extract.warnings == ()
    text = extract.pages[0].text
    assert text.startswith(SHOWN + "\n")
    return text[len(SHOWN) + 1 :]


def test_headers_then_a_blank_line_then_the_words():
    extract = read(HEAD + b"X-Spam: no\r\nReceived: from x\r\n\r\nHigh water\r\nat nine.\r\n")
    assert extract.pages[0].text == SHOWN + "\nHigh water\nat nine.\n"
    assert (extract.media_type, extract.encoding, len(extract.pages)) == ("message/rfc822", None, 1)
    assert extract.warnings == ()


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"=?utf-8?q?Gr=C3=BC=C3=9Fe_aus?= =?utf-8?q?_K=C3=B6ln?=", "Grüße aus Köln"),
        (b"=?UTF-8?B?w5xiZXJm?=\r\n =?UTF-8?B?w6RsbGln?=", "Überfällig"),
        (b"=?utf-8?q?cut_=C3?= =?utf-8?q?=BC_in_two?=", "cut ü in two"),
        (b"=?iso-2022-jp?B?GyRCRnxLXBsoQg==?= <a@b.example>", "日本 <a@b.example>"),
        (b"=?gb2312?B?1tDOxA?=", "中文"),
        (b"=?utf-8*de?Q?f=C3=BCr?= all", "für all"),
        (b'"=?utf-8?q?J=C3=B6rg?=" <j@x.example>', '"Jörg" <j@x.example>'),
        (b"=?utf-8?q?with blanks?= after", "with blanks after"),
        (b"=?no-such-charset?q?Gr=C3=BC=C3=9Fe?=", "Grüße"),
        (b"=?utf-8?q?never closed", "=?utf-8?q?never closed"),
        ("Grüße 8 bit".encode(), "Grüße 8 bit"),
        ("Grüße 8 bit".encode("latin-1"), "Grüße 8 bit"),
        (b"one\r\n\ttwo\r\n   three", "one two three"),
        (b'foo@@bar, <>, "x', 'foo@@bar, <>, "x'),
    ],
)
def test_header_values(raw, shown):
    assert header(raw) == shown
    assert read(b"Subject: " + raw + b"\r\n\r\nx").pages[0].text == f"Subject: {shown}\n\nx\n"


def test_an_encoded_word_makes_no_header_and_no_control_sign():
    text = read(b"Subject: =?utf-8?q?a=0D=0AFrom:_boss=1B[31m=E2=80=AE?=\r\n\r\nx").pages[0].text
    assert text == "Subject: a From: boss\n\nx\n"


def test_headers_that_stand_twice():
    extract = read(b"from: a@a.example\nTO: x@x.example\nFrom: b@b.example\nTo: y@y.example\nCc: z@z.example\n\nHi.")
    assert extract.pages[0].text == "From: a@a.example\nTo: x@x.example, y@y.example\nCc: z@z.example\n\nHi.\n"
    assert extract.warnings == ("a message with 2 headers From: the first is shown",)


@pytest.mark.parametrize("data", [HEAD, HEAD + b"\r\n", HEAD + b"Content-Type: text/html\r\n\r\n<p></p>\r\n"])
def test_no_body(data):
    extract = read(data)
    assert (extract.pages[0].text, extract.warnings) == (SHOWN, ())


def test_few_headers():
    assert read(b"Message-ID: <1@x>\nSubject:\n\nStill words.\n").pages[0].text == "Still words.\n"


@pytest.mark.parametrize(
    ("way", "coded"),
    [
        ("quoted-printable", quopri.encodestring("Größe = 5 €\n".encode())),
        ("base64", base64.encodebytes("Größe = 5 €\n".encode())),
        ("8bit", "Größe = 5 €\n".encode()),
        ("no-such-way", "Größe = 5 €\n".encode()),
    ],
)
def test_transfer_encodings(way, coded):
    assert body(part(coded, "text/plain; charset=utf-8", f"Content-Transfer-Encoding: {way}")) == "Größe = 5 €\n"


def test_damaged_base64_is_told():
    extract = read(HEAD + part("SGVsbG8g!!d29ybGQ", "text/plain", "Content-Transfer-Encoding: base64"))
    assert "Hello" in extract.pages[0].text
    assert extract.warnings == ("a damaged part of a message: its transfer encoding does not hold",)


@pytest.mark.parametrize(
    ("charset", "data", "shown", "warned"),
    [
        ("iso-8859-1", "Größe: 5 €".encode("cp1252"), "Größe: 5 €", ""),
        ("koi8-r", "привет".encode("koi8-r"), "привет", ""),
        ("shift_jis", "①漢字".encode("cp932"), "①漢字", ""),
        ("x-sjis", "①漢字".encode("cp932"), "①漢字", ""),
        ("ISO_8859-9", "İş €".encode("cp1254"), "İş €", ""),
        ("iso-8859-8-i", "שלום".encode("iso-8859-8"), "שלום", ""),
        ("iso-8859-8-e", "שלום".encode("iso-8859-8"), "שלום", ""),
        ("iso-8859-11", "ไทย…".encode("cp874"), "ไทย…", ""),
        ("us-ascii", "Größe".encode(), "Größe", ""),
        ("us-ascii", "Größe".encode("latin-1"), "Größe", "not UTF-8"),
        ("utf-8", "Größe".encode("latin-1"), "Größe", "not UTF-8"),
        ("iso-8859-1", "Größe".encode(), "Größe", "charset iso-8859-1 taken for utf-8"),
        ("gb2312", "中文".encode(), "中文", "charset gb2312 taken for utf-8"),
        ("unknown-8bit", "Größe".encode(), "Größe", "charset unknown-8bit taken for utf-8"),
        ("unknown-8bit", "Größe".encode("latin-1"), "Größe", "charset unknown-8bit taken for cp1252"),
        ("unknown-8bit", b"plain", "plain", ""),
        ("unicode_escape", b"\\x41\xc3\xb6", "\\x41ö", "charset unicode_escape taken for utf-8"),
        ("utf-8", b"bell \x07, escape \x1b[31m.", "bell , escape .", ""),
        ("utf-8", b"NUL \x00.", "NUL \ufffd.", "1 character unreadable"),
        ("euc-kr", b"\xb0\xa1 \xff\xff", "가 \ufffd\ufffd", "2 characters unreadable"),
    ],
)
def test_charsets(charset, data, shown, warned):
    decoded = letters(data, charset)
    assert decoded.text == shown
    assert len(decoded.warnings) == bool(warned)
    assert warned in "".join(decoded.warnings)


def test_plain_is_preferred_to_html():
    plain, page = part("The plain words.\n"), part("<p>The same words</p>", "text/html")
    assert body(multi("alternative", plain, page)) == "The plain words.\n"
    assert body(multi("alternative", page, plain)) == "The plain words.\n"


@pytest.mark.parametrize("plain", ["", " \r\n", None])
def test_html_where_plain_says_nothing(plain):
    page = part("<html><head><style>p{}</style></head><p>Gr&uuml;&szlig;e<br>von <b>hier</b></p></html>", "text/html")
    forms = [page] if plain is None else [part(plain), page]
    assert body(multi("alternative", *forms)) == "Grüße\nvon hier\n"


def test_html_where_plain_is_but_a_hint():
    page = part(f"<p>{'All the words of the letter. ' * 40}</p>", "text/html")
    assert body(multi("alternative", part("Please view this as HTML."), page)).startswith(
        "All the words of the letter."
    )


def test_html_declares_its_charset_itself():
    page = "<html><head><meta charset=koi8-r></head><body>привет, мир</body></html>".encode("koi8-r")
    assert body(part(page, "text/html", "Content-Transfer-Encoding: 8bit")) == "привет, мир\n"
    assert body(part("<p>привет</p>".encode("cp1251"), "text/html; charset=windows-1251")) == "привет\n"


def test_nested_forms_with_pictures_and_a_document():
    page = multi(
        "related",
        part("<p>Look: <img src=cid:1></p>", "text/html"),
        part(base64.b64encode(b"GIF89a\0"), "image/gif; name=a.gif", "Content-Transfer-Encoding: base64"),
        boundary="b3",
    )
    message = multi(
        "mixed",
        multi("alternative", part("Look.\n"), page, boundary="b2"),
        part(PDF, "application/pdf; name=plan.pdf", "Content-Transfer-Encoding: base64"),
    )
    extract = read(HEAD + message)
    assert extract.pages[0].text == (
        SHOWN + "\nLook.\n\n[Attachment, not read: a.gif, image/gif, 7 bytes]\n\n"
        "[Attachment, not read: plan.pdf, application/pdf, 265 bytes]\n"
    )
    assert extract.warnings == ("an attachment not read: plan.pdf, application/pdf",)


def test_an_attachment_beside_html_only():
    """Some programs put attachments into the HTML form; they belong to the message whichever form is shown."""
    pages = multi("mixed", part("<p>x</p>", "text/html"), part("a,b\n", "text/csv; name=t.csv"), boundary="b2")
    assert body(multi("alternative", part("Words.\n"), pages)) == "Words.\n\n[Attachment: t.csv, text/csv]\n\na,b\n"


def test_an_invitation_keeps_its_calendar():
    invitation = part("BEGIN:VCALENDAR\r\nSUMMARY:Tide talk\r\n", "text/calendar; method=REQUEST")
    shown = body(multi("alternative", part("See you."), part("<p>See you.</p>", "text/html"), invitation))
    assert shown == "See you.\n\nBEGIN:VCALENDAR\nSUMMARY:Tide talk\n"


@pytest.mark.parametrize(
    ("disposition", "name"),
    [
        ("attachment; filename=notes.txt", "notes.txt"),
        ("attachment; filename*=utf-8''f%C3%BCr%20alle.txt", "für alle.txt"),
        ("attachment; filename*0*=iso-8859-1''f%FC; filename*1=r.txt", "für.txt"),
        ('attachment; filename="=?utf-8?q?f=C3=BCr=0A.txt?="', "für .txt"),
        ('attachment; filename="a\x1b[2J\r\n b.txt"', "a b.txt"),
        ('attachment; filename="../../etc/x.txt"', "../../etc/x.txt"),
    ],
)
def test_attached_text_is_read_under_its_name(disposition, name):
    attached = part("Attached words.", "text/plain; charset=utf-8", f"Content-Disposition: {disposition}")
    assert body(multi("mixed", part("Body."), attached)) == (
        f"Body.\n\n[Attachment: {name}, text/plain]\n\nAttached words.\n"
    )


def test_text_without_a_type_of_its_own():
    log = part("line one\n", "application/octet-stream; name=run.log")
    data = part(b"\x00\x01", "text/plain; name=odd.txt")
    extract = read(HEAD + multi("mixed", part("Body."), log, data, part("", "text/plain; name=empty.txt")))
    assert extract.pages[0].text == (
        SHOWN + "\nBody.\n\n[Attachment: run.log, application/octet-stream]\n\nline one\n\n"
        "[Attachment, not read: odd.txt, text/plain, 2 bytes]\n\n[Attachment, empty: empty.txt, text/plain]\n"
    )
    assert extract.warnings == ("an attachment not read: odd.txt, text/plain",)


def test_a_message_within():
    inner = part(b"From: cy@c.example\r\nSubject: =?utf-8?q?=C3=84lter?=\r\n\r\nOld words.\r\n", "message/rfc822")
    within = "[Attached message]\n\nFrom: cy@c.example\nSubject: Älter\n\nOld words.\n\n[End of the attached message]\n"
    assert body(multi("mixed", part("See below."), inner)) == f"See below.\n\n{within}"
    coded = part(
        base64.encodebytes(inner.partition(b"\r\n\r\n")[2]), "message/rfc822", "Content-Transfer-Encoding: base64"
    )
    assert body(multi("mixed", coded)) == within


def test_a_digest():
    digest = multi("digest", b"\r\nSubject: One\r\n\r\nFirst.", b"\r\nSubject: Two\r\n\r\nSecond.")
    assert body(digest).count("[Attached message]") == 2
    assert "Subject: Two\n\nSecond." in body(digest)


def test_a_report_of_delivery():
    status = part("Reporting-MTA: dns; x\r\n\r\nAction: failed\r\n", "message/delivery-status")
    assert body(multi("report", part("Not delivered."), status)) == (
        "Not delivered.\n\nReporting-MTA: dns; x\n\nAction: failed\n"
    )


def test_signed_and_encrypted():
    signature = part("MIIB", "application/pkcs7-signature; name=smime.p7s", "Content-Transfer-Encoding: base64")
    assert body(multi("signed", part("Signed words."), signature)) == (
        "Signed words.\n\n[Signature, not checked: smime.p7s, application/pkcs7-signature]\n"
    )
    sealed = read(HEAD + part("MIIB", "application/pkcs7-mime; name=smime.p7m"))
    assert sealed.pages[0].text.endswith("[Encrypted, not read: smime.p7m, application/pkcs7-mime]\n")
    assert sealed.warnings == ("an encrypted part of a message is not read",)


def test_flowed_text():
    flowed = "A long \r\nsentence.\r\n> quoted \r\n> words\r\n>> deeper\r\n From the margin\r\n-- \r\nAnn\r\n"
    assert body(part(flowed, "text/plain; format=flowed")) == (
        "A long sentence.\n> quoted words\n>> deeper\nFrom the margin\n-- \nAnn\n"
    )
    assert unflowed("日 \n本 \n語", without_blanks=True) == "日本語"
    assert body(part("kept \r\nas it is", "text/plain")) == "kept \nas it is\n"


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_line_ends(end):
    message = (HEAD + multi("mixed", part("One.\r\nTwo."))).replace(b"\r\n", end)
    assert read(message).pages[0].text == SHOWN + "\nOne.\nTwo.\n"


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16"])
def test_saved_with_a_byte_order_mark(codec):
    assert read((SHOWN + "\nGrüße\n").encode(codec)).pages[0].text == SHOWN + "\nGrüße\n"


def test_a_message_cut_off():
    extract = read(HEAD + multi("mixed", part("Whole."), part("Hal"), closed=False))
    assert extract.pages[0].text == SHOWN + "\nWhole.\n\nHal\n"
    assert extract.warnings == ("the last part of a message has no end: the message may be cut off",)


def test_text_after_the_last_part_is_told():
    extract = read(HEAD + multi("mixed", part("Whole.")) + b"A list's footer\r\n")
    assert extract.warnings == ("text after the last part of a message left out",)


@pytest.mark.parametrize("content_type", ["multipart/mixed", "multipart/mixed; boundary=never"])
def test_parts_without_their_boundary(content_type):
    extract = read(HEAD + part("--b\r\nWords all the same.", content_type))
    assert extract.pages[0].text == SHOWN + "\n--b\nWords all the same.\n"
    assert extract.warnings == ("a message of several parts shows none",)


def test_a_boundary_that_begins_another():
    inner = multi("alternative", part("Inner."), boundary="b1-in")
    assert body(multi("mixed", part("First."), inner, part("Last."))) == "First.\n\nInner.\n\nLast.\n"


def test_one_message_of_an_mbox():
    assert read(b"From ann Tue May  5 09:30:00 2026\n" + HEAD + b"\r\nHi.").pages[0].text == SHOWN + "\nHi.\n"


def test_several_messages_of_an_mbox():
    envelope = b"From ann Tue May  5 09:30:00 2026\n"
    second = envelope + b"Subject: Two\n\nFrom here at 10:30\n>From there\n\nFrom now at 10:30 on\nand on\n"
    extract = read(envelope + b"Subject: One\n\nFirst.\n\n" + second, "box.mbox")
    assert extract.media_type == "application/mbox"
    assert extract.pages[0].text == (
        "# Message 1 of 2\n\nSubject: One\n\nFirst.\n\n"
        "# Message 2 of 2\n\nSubject: Two\n\nFrom here at 10:30\nFrom there\n\nFrom now at 10:30 on\nand on\n"
    )
    assert extract.warnings == ()


def test_only_names_make_a_message_and_others_are_text():
    assert mail.matches(Source("a.eml", b"anything"))
    assert mail.matches(Source("A.MBOX", b"anything"))
    assert not mail.matches(Source("a.txt", HEAD + b"\r\nHi."))
    extract = read(b"Just a note: nothing more.\n")
    assert (extract.media_type, extract.pages[0].text) == ("text/plain", "Just a note: nothing more.\n")
    assert extract.warnings[-1] == "no e-mail message, for it has no headers: read as text"


def test_nothing_to_read():
    for data in (b" \r\n\r\n", b"Received: from x\r\n\r\n\r\n"):
        with pytest.raises(UnreadableError, match=r"^no text$"):
            read(data)
