"""The kinds that are recognised only to be refused by name: presentations, workbooks, archives, and binary data."""

from __future__ import annotations

import io
import zipfile

from spsl_cli.documents.encoding import mark, wide
from spsl_cli.documents.source import Extract, Source, UnreadableError

_ZIP_SIGNS = (b"PK\x03\x04", b"PK\x05\x06")
_ZIP_KINDS = {
    ".pptx": "a PowerPoint presentation (.pptx)",
    ".xlsx": "an Excel workbook (.xlsx)",
    ".odt": "an OpenDocument text (.odt)",
}
_FOLDERS = {"ppt/": ".pptx", "xl/": ".xlsx"}
_MIME_TYPES = {
    b"application/vnd.oasis.opendocument.text": ".odt",
}
_LONGEST_MIME_TYPE = 100
# All control bytes but backspace, tab, line feed, vertical tab, form feed, carriage return and escape (coloured logs).
_CONTROLS = bytes({*range(0x20), 0x7F} - {0x08, 0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x1B})
_MOST_CONTROLS = 0.05


def matches(source: Source) -> bool:
    """Whether the bytes are of no kind that can be read as text."""
    return source.data.startswith((*_ZIP_SIGNS, b"{\\rtf")) or is_binary(source.data)


def read(source: Source) -> Extract:
    """Raises UnreadableError, always: the reason names the kind as well as it is known."""
    if source.data.startswith(_ZIP_SIGNS):
        suffix = _zip_suffix(source.data) or source.suffix
        raise UnreadableError(f"{_ZIP_KINDS.get(suffix, 'a zip archive')}: not supported yet")
    if source.data.startswith(b"{\\rtf"):
        raise UnreadableError("an RTF document: not supported yet")
    raise UnreadableError("binary file (not a kind that spsl reads)")


def is_binary(data: bytes) -> bool:
    """NUL anywhere or one control byte in twenty, unless the data are text in wide characters."""
    found = mark(data)
    if (found and found[1] != "utf-8") or (b"\0" in data and wide(data) is not None):
        return False
    controls = len(data) - len(data.translate(None, _CONTROLS))
    return b"\0" in data or controls > _MOST_CONTROLS * len(data)


def _zip_suffix(data: bytes) -> str | None:
    """The office kind that an archive's content shows; its members are neither unpacked nor trusted further."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = archive.namelist()
            if "mimetype" in names:
                with archive.open("mimetype") as member:
                    return _MIME_TYPES.get(member.read(_LONGEST_MIME_TYPE).strip())
    except Exception:  # noqa: BLE001 - a damaged archive raises anything; the name then tells the kind
        return None
    return next((suffix for folder, suffix in _FOLDERS.items() if any(n.startswith(folder) for n in names)), None)
