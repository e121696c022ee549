"""Bytes -> an open, decrypted pypdf reader and its pages in order. Knows nothing of text."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass

from pypdf import PageObject, PasswordType, PdfReader
from pypdf.errors import DependencyError, PdfReadError

from spsl_cli.documents.pdf.page_tree import leaves
from spsl_cli.documents.source import Source, UnreadableError
from spsl_cli.documents.wording import failure

# A pointer to where no cross-reference table can be: pypdf then looks for the objects in the whole file.
_NO_TABLE = b"\nstartxref\n0\n%%EOF\n"
_OBJECT = re.compile(rb"(?<!\d)(\d{1,7})\s+\d{1,5}\s+obj\b")


@dataclass(frozen=True)
class OpenPdf:
    """`pages` holds None in the place of each page that the file names but does not hold."""

    reader: PdfReader
    pages: list[PageObject | None]
    mended: bool


def open_pdf(source: Source) -> OpenPdf:
    """Opens `source`, mending its list of objects where that gives more pages. Raises UnreadableError."""
    try:
        opened = _open(source.data, source.password, mended=False)
    except UnreadableError:
        raise
    except Exception as error:  # on damaged files pypdf raises whatever its parsing runs into
        mended = _mend(source)
        if mended is None:
            raise UnreadableError(f"broken PDF: {failure(error)}") from error
        return mended
    if None in opened.pages:
        mended = _mend(source)
        if mended and len(mended.pages) - mended.pages.count(None) > len(opened.pages) - opened.pages.count(None):
            return mended
    return opened


def _mend(source: Source) -> OpenPdf | None:
    """Opens `source` by what stands in it, not by its list of objects; None if that does not help either."""
    try:
        return _open(source.data + _trailer(source.data) + _NO_TABLE, source.password, mended=True)
    except UnreadableError:
        raise
    except Exception:  # noqa: BLE001 - the same as above; the first error is the one to tell
        return None


def _trailer(data: bytes) -> bytes:
    """Where nothing names the catalog any more, pypdf looks at all objects up to /Size for it."""
    if b"/Root" in data:
        return b""
    highest = max((int(number) for number in _OBJECT.findall(data)), default=0)
    return b"\ntrailer\n<</Size %d>>" % (highest + 1)


def _open(data: bytes, password: str | None, *, mended: bool) -> OpenPdf:
    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted:
            _unlock(reader, password)
    except NotImplementedError as error:
        raise UnreadableError(f"encrypted PDF of a kind that cannot be opened: {failure(error)}") from error
    except DependencyError as error:
        raise UnreadableError(f"encrypted PDF: {failure(error)}") from error
    pages = _pages(reader)
    if not pages:
        raise PdfReadError("it has no pages")
    return OpenPdf(reader, pages, mended)


def _unlock(reader: PdfReader, password: str | None) -> None:
    """With the empty password, which serves where a file only forbids printing and the like, or the one given."""
    if reader.decrypt("") != PasswordType.NOT_DECRYPTED:
        return
    if password is None:
        raise UnreadableError("encrypted PDF; give the password with --password")
    if reader.decrypt(password) == PasswordType.NOT_DECRYPTED:
        raise UnreadableError("encrypted PDF; the password given with --password does not open it")


def _pages(reader: PdfReader) -> list[PageObject | None]:
    """The list that pypdf makes; where it lacks pages that the file announces, one in which each keeps its number."""
    try:
        listed: list[PageObject | None] = list(reader.pages)
    except Exception:  # noqa: BLE001 - a damaged page tree raises anything; what it still holds is gathered below
        return leaves(reader)
    if listed and len(listed) >= _announced(reader):
        return listed
    return leaves(reader)


def _announced(reader: PdfReader) -> int:
    root = reader.root_object.get("/Pages")
    number = root.get_object().get("/Count") if root is not None else None
    return number if isinstance(number, int) else 0
