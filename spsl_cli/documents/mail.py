"""The kind for e-mail (.eml, .mbox) and for pages saved as such (.mht): headers, words, and what is attached.

Of the same words in two forms one is shown. Attached text is part of the document, for it was sent to be read with the
message; what is attached in other forms is named. Signatures are not checked and nothing is fetched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from spsl_cli.documents import html, text
from spsl_cli.documents.document import Page
from spsl_cli.documents.encoding import mark
from spsl_cli.documents.limits import Limits
from spsl_cli.documents.mime.letters import header, letters, unflowed
from spsl_cli.documents.mime.parts import Part, is_message, parse
from spsl_cli.documents.source import Extract, Source, UnreadableError
from spsl_cli.documents.unseen import Unseen
from spsl_cli.documents.unsupported import is_binary
from spsl_cli.documents.wording import count, one_line

MEDIA_TYPE = "message/rfc822"
_SEVERAL_MEDIA_TYPE = "application/mbox"
_PAGE_SUFFIXES = frozenset({".mht", ".mhtml"})
_SUFFIXES = frozenset({".eml", ".mbox"}) | _PAGE_SUFFIXES
_SHOWN_HEADERS = ("From", "To", "Cc", "Bcc", "Date", "Subject")
_OF_SEVERAL = frozenset({"To", "Cc", "Bcc"})
# The line that an mbox puts before each message; the first one may lack the time.
_ENVELOPE = re.compile(
    rb"(?:\AFrom [^\n]*\n|(?:(?<=\n\n)|(?<=\n\r\n))From [^\n]{1,200}\d\d:\d\d[^\n]{0,60}\n)(?=[!-9;-~]+:)"
)
_QUOTED_ENVELOPE = re.compile(rb"^>(>*From )", re.MULTILINE)
_SIGNATURES = frozenset({"application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature"})
_SEALED = frozenset({"application/pgp-encrypted", "application/pkcs7-mime", "application/x-pkcs7-mime"})
# Types beside text/... that people read, and names that senders without a better type give to text.
_TEXT_TYPES = frozenset({"application/json", "application/xml", "message/delivery-status"})
_FORMS = {"text/plain": "plain", "text/html": "html", "text/calendar": ""}
_TEXT_NAME = re.compile(r"\.(?:csv|json|log|md|tsv|txt|xml|ya?ml)$", re.IGNORECASE)
# A plain form is but a hint to read the other one where that has many words and so many times more.
_HINT_WORDS = 100
_HINT_RATIO = 5
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class _Block:
    """Something to show; `form` is that of words which may stand in other forms too, empty for all else."""

    shown: str
    form: str = ""


def matches(source: Source) -> bool:
    """Whether the name says a message; what then is none is read as text, with a warning."""
    return source.suffix in _SUFFIXES


def read(source: Source) -> Extract:
    """All messages of the file as one page. Raises UnreadableError where none can be read."""
    messages = _messages(source.data)
    if not any(is_message(message) for message in messages):
        extract = text.read_as(source, text.MEDIA_TYPE)
        warnings = (*extract.warnings, "no e-mail message, for it has no headers: read as text")
        return Extract(extract.media_type, extract.pages, extract.encoding, warnings)
    reading = _Reading(source.limits, saved_page=source.suffix in _PAGE_SUFFIXES)
    shown = reading.message(parse(messages[0])) if len(messages) == 1 else reading.several(messages)
    if not shown:
        raise UnreadableError("no text")
    media_type = MEDIA_TYPE if len(messages) == 1 else _SEVERAL_MEDIA_TYPE
    return Extract(media_type, (Page(1, shown + "\n"),), None, reading.told())


def _messages(data: bytes) -> list[bytes]:
    """The messages of a file: one, or each that an mbox holds."""
    if found := mark(data):
        sign, encoding = found
        data = data[len(sign) :].decode(encoding, "replace").encode()
    data = data.lstrip()
    if b"\n" not in data:
        data = data.replace(b"\r", b"\n")
    if not _ENVELOPE.match(data):
        return [data]
    envelopes = [found.span() for found in _ENVELOPE.finditer(data)]
    ends = [start for start, _ in envelopes[1:]] + [len(data)]
    return [_QUOTED_ENVELOPE.sub(rb"\1", data[start:end]) for (_, start), end in zip(envelopes, ends, strict=True)]


class _Reading:
    """Messages -> their text. Keeps what the user should know, every warning once with how often it arose."""

    def __init__(self, limits: Limits, *, saved_page: bool) -> None:
        """Of a `saved_page` only its words are shown, not the pictures and styles saved with it."""
        self._limits = limits
        self._saved_page = saved_page
        self._warnings: dict[str, int] = {}
        self._unseen = Unseen()

    def told(self) -> tuple[str, ...]:
        """The warnings, in the order in which they first arose."""
        told = (text if number == 1 else f"{text} ({number:,} times)" for text, number in self._warnings.items())
        return (*told, *self._unseen.warnings())

    def message(self, part: Part) -> str:
        """Headers, a blank line, and all that the message holds."""
        blocks = [block.shown for block in self._blocks(part)]
        return "\n\n".join(block for block in ("\n".join(self._headers(part)), *blocks) if block.strip())

    def several(self, messages: list[bytes]) -> str:
        """One after the other, each under its number; one that cannot be read does not cost the others."""
        shown = []
        for number, message in enumerate(messages, 1):
            try:
                shown.append(f"# Message {number:,} of {len(messages):,}\n\n{self.message(parse(message))}")
            except UnreadableError as error:
                self._warn(f"message {number:,} left out: {error}")
        return "\n\n".join(shown)

    def _warn(self, what: str) -> None:
        self._warnings[what] = self._warnings.get(what, 0) + 1

    def _headers(self, part: Part) -> Iterator[str]:
        for name in _SHOWN_HEADERS:
            values = [header(value) for value in part.headers.get(name.lower(), ())]
            if len(values) > 1 and name not in _OF_SEVERAL:
                self._warn(f"a message with {len(values)} headers {name}: the first is shown")
                del values[1:]
            if shown := ", ".join(value for value in values if value):
                yield f"{name}: {shown}"

    def _blocks(self, part: Part) -> list[_Block]:
        """What there is to show of a part and all within it, in order."""
        for fault in part.faults:
            self._warn(fault)
        if part.media_type == "message/rfc822":
            inner = "\n\n".join(self.message(message) for message in part.parts)
            return [_Block(f"[Attached message]\n\n{inner}\n\n[End of the attached message]")]
        if part.media_type == "multipart/alternative":
            return _chosen([self._blocks(inner) for inner in part.parts])
        if part.parts:
            return [block for inner in part.parts for block in self._blocks(inner)]
        return [self._leaf(part)]

    def _leaf(self, part: Part) -> _Block:
        name = part.parameter("filename", "content-disposition") or part.parameter("name") or ""
        name = header(name.encode("utf-8", "surrogateescape"))
        label = ", ".join(item for item in (name, one_line(part.media_type)) if item)
        if part.media_type in _SIGNATURES:
            return _Block(f"[Signature, not checked: {label}]")
        if part.media_type in _SEALED:
            self._warn("an encrypted part of a message is not read")
            return _Block(f"[Encrypted, not read: {label}]")
        if self._saved_page and part.media_type not in _FORMS and part.disposition != "attachment":
            return _Block("")
        content, damaged = part.content()
        if not (_is_text(part.media_type) or _TEXT_NAME.search(name)) or is_binary(content):
            if not part.media_type.startswith("image/"):
                self._warn(f"an attachment not read: {label}")
            return _Block(f"[Attachment, not read: {label}, {count(len(content), 'byte')}]")
        if damaged:
            self._warn("a damaged part of a message: its transfer encoding does not hold")
        words = self._words(part, content)
        if name or part.disposition == "attachment":
            return _Block(f"[Attachment: {label}]\n\n{words}" if words else f"[Attachment, empty: {label}]")
        return _Block(words, _FORMS.get(part.media_type, "other"))

    def _words(self, part: Part, content: bytes) -> str:
        """A text part as it is to be read."""
        charset = part.parameter("charset")
        is_html = part.media_type == "text/html"
        decoded = html.decode_page(content) if is_html and not charset else letters(content, charset)
        for warning in decoded.warnings:
            self._warn(warning)
        if is_html:
            try:
                shown, warnings, unseen = html.seen(decoded.text, limits=self._limits)
            except UnreadableError as error:
                self._warn(f"HTML in a message left out: {error}")
                return ""
            for warning in warnings:
                self._warn(warning)
            self._unseen.take(unseen)
            return shown.strip("\n")
        if (part.parameter("format") or "").lower() == "flowed":
            without_blanks = (part.parameter("delsp") or "").lower() == "yes"
            return unflowed(decoded.text, without_blanks=without_blanks).strip("\n")
        return decoded.text.strip("\n")


def _is_text(media_type: str) -> bool:
    return media_type.startswith("text/") or media_type in _TEXT_TYPES


def _chosen(forms: list[list[_Block]]) -> list[_Block]:
    """Of the same words in several forms the one to read; of the others only what is no form of these words."""
    numbers = [{form: _words_in(blocks, form) for form in ("plain", "html", "other")} for blocks in forms]
    best = {form: max(range(len(forms)), key=lambda at: numbers[at][form]) for form in ("plain", "html", "other")}
    plain, page = (numbers[best[form]][form] for form in ("plain", "html"))
    is_hint = page > _HINT_WORDS and page > _HINT_RATIO * plain
    chosen = best["plain"] if plain and not is_hint else best["html"] if page else best["other"]
    return [block for at, blocks in enumerate(forms) for block in blocks if at == chosen or not block.form]


def _words_in(blocks: list[_Block], form: str) -> int:
    return sum(len(_WORD.findall(block.shown)) for block in blocks if block.form == form)
