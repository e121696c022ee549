"""The kind for Word documents: .docx and its sisters.

What else comes in the same container is recognised, to be refused by name: old and encrypted ones, Outlook messages.
"""

from __future__ import annotations

from spsl_cli.documents.archive import SIGNS, Archive
from spsl_cli.documents.document import Page
from spsl_cli.documents.source import Extract, Source, UnreadableError

MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
_SUFFIXES = frozenset({".docx", ".docm", ".dotx", ".dotm"})
_OLD_SUFFIXES = frozenset({".doc", ".dot"})
_TYPES = "[Content_Types].xml"
_WORD_TYPE = b"wordprocessingml"
_LONGEST_TYPES = 8 << 20
_FOLDER = "word/"
_OLE = bytes.fromhex("D0CF11E0A1B11AE1")
_ENCRYPTED, _OLD_WORD = "EncryptedPackage".encode("utf-16-le"), "WordDocument".encode("utf-16-le")
_OUTLOOK, _OUTLOOK_SUFFIX = "__substg1.0_".encode("utf-16-le"), ".msg"


def matches(source: Source) -> bool:
    """Whether the content shows a Word document of whatever age or its kin, or is an archive named as one."""
    if source.data.startswith(_OLE):
        named = source.suffix in {*_SUFFIXES, *_OLD_SUFFIXES, _OUTLOOK_SUFFIX}
        return named or any(sign in source.data for sign in (_ENCRYPTED, _OLD_WORD, _OUTLOOK))
    if not source.data.startswith(SIGNS):
        return False
    return source.suffix in _SUFFIXES or _holds_word(source)


def read(source: Source) -> Extract:
    """The whole text as one page. Raises UnreadableError where it cannot be read, with the reason."""
    if source.data.startswith(_OLE):
        raise UnreadableError(_refusal(source))
    # lxml takes time to import, which only those with a Word document should pay.
    from spsl_cli.documents.word.reading import read_word  # noqa: PLC0415

    try:
        reading = read_word(Archive(source.data, source.limits), source.limits)
    except UnreadableError as error:
        raise UnreadableError(f"a Word document that cannot be read: {error}") from error
    if not reading.text:
        why = "; ".join(reading.warnings) or "it may hold pictures only"
        raise UnreadableError(f"a Word document without text ({why})")
    return Extract(MEDIA_TYPE, (Page(1, reading.text),), None, reading.warnings)


def _holds_word(source: Source) -> bool:
    try:
        archive = Archive(source.data, source.limits)
        typed = archive.find(_TYPES) is not None and _WORD_TYPE in archive.read(_TYPES, _LONGEST_TYPES)
    except UnreadableError:
        return False
    return typed or any(name.lower().startswith(_FOLDER) for name in archive)


def _refusal(source: Source) -> str:
    if _OUTLOOK in source.data or source.suffix == _OUTLOOK_SUFFIX:  # it may have a Word document in it
        return "an Outlook message (.msg): not supported, save it as .eml"
    if _ENCRYPTED in source.data:
        return "an office document encrypted with a password (save it without one, then read that)"
    if _OLD_WORD in source.data or source.suffix in _OLD_SUFFIXES:
        return "a Word document of the old format (.doc): not supported, save it as .docx"
    return "not a Word document (.docx) in spite of its name: another office format"
