"""An open PDF -> the text of its pages, with warnings. A page that fails costs that page, never its number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass

from pypdf import PageObject, apply_configuration

from spsl_cli.documents.encoding import REPLACEMENT
from spsl_cli.documents.pdf.appearances import Appearances
from spsl_cli.documents.pdf.assembly import assemble
from spsl_cli.documents.pdf.attachments import not_read
from spsl_cli.documents.pdf.contents import content, visible_area
from spsl_cli.documents.pdf.doubles import single
from spsl_cli.documents.pdf.faces import Faces
from spsl_cli.documents.pdf.fields import has_xfa
from spsl_cli.documents.pdf.glyphs import readable
from spsl_cli.documents.pdf.interpreter import Interpreter
from spsl_cli.documents.pdf.labels import printed_labels
from spsl_cli.documents.pdf.layers import Layers
from spsl_cli.documents.pdf.layout import page_text
from spsl_cli.documents.pdf.log import Messages, captured
from spsl_cli.documents.pdf.notes import remarks, visible_entries
from spsl_cli.documents.pdf.opening import open_pdf
from spsl_cli.documents.pdf.raw import Outline, RawPage
from spsl_cli.documents.pdf.second import SecondReader, is_better
from spsl_cli.documents.pdf.visibility import seen
from spsl_cli.documents.source import Extract, Source, UnreadableError
from spsl_cli.documents.wording import count, failure

_XFA = "its form is of the kind XFA, whose own text is not read; what stands on the pages is"


def extract(source: Source) -> Extract:
    """Reads all pages in this process. Raises UnreadableError if the file cannot be opened or holds no text."""
    with closing(PdfPages(source)) as opened:
        return assemble(opened.outline, [opened.page(index) for index in range(opened.outline.total)])


@dataclass(frozen=True, slots=True)
class _Reading:
    """`doubt` says why another reading may be better; `failed` that there is none at all."""

    text: str = ""
    warnings: tuple[str, ...] = ()
    doubt: str = ""
    failed: str | None = None
    hidden: bool = False
    margins: tuple[int, ...] = ()
    unjoined: tuple[int, ...] = ()


class PdfPages:
    """The pages of one PDF, each read when it is asked for.

    Raises UnreadableError if the file cannot be opened or exceeds a limit. With `pdfium=False` no code in C runs.
    """

    def __init__(self, source: Source, *, pdfium: bool = True) -> None:
        self._limits = source.limits
        with _quiet() as messages:
            opened = open_pdf(source)
            total = len(opened.pages)
            if total > source.limits.pages:
                raise UnreadableError(f"{count(total, 'page')}, more than the limit of {source.limits.pages:,}")
            warnings = messages.take()
            if opened.mended:
                # What pypdf remarked on the way says the same in its own terms.
                warnings = ("damaged PDF: its list of objects was rebuilt, and parts may be missing",)
            if has_xfa(opened.reader.root_object):
                warnings = (*warnings, _XFA)
            warnings = (*warnings, *not_read(opened.reader))
            self._pages = opened.pages
            self._faces = Faces(opened.reader)
            self._layers = Layers(opened.reader)
            self.outline = Outline(total, tuple(printed_labels(opened.reader, total)), warnings)
        self._second = SecondReader(source, total) if pdfium else None

    def page(self, index: int) -> RawPage:
        """The page at `index` (from 0). What goes wrong with it is told in the result, never raised."""
        with _quiet() as messages:
            page = self._pages[index]
            if page is None:
                return _failed("it is missing from the file", messages.take())
            try:
                reading = self._read(page)
            except Exception as error:  # noqa: BLE001 - on damaged pages pypdf raises whatever its parsing runs into
                reading = _Reading(failed=failure(error), doubt="failed")
            if reading.doubt and not reading.hidden:
                reading = self._checked(reading, index)
            return self._raw(reading, messages.take())

    def close(self) -> None:
        """Gives back what the file holds outside Python; no page can be asked for any more."""
        if self._second is not None:
            self._second.close()

    def _read(self, page: PageObject) -> _Reading:
        data, missing = content(page)
        area = visible_area(page)
        drawing = Interpreter(page, area, self._faces, self._layers)
        drawing.run(data)
        look = Appearances(page, area, drawing.surface, self._faces, self._layers).text
        entered, hidden = visible_entries(page, look, drawing.surface, area)
        visible = seen(single(drawing.runs), drawing.surface, area, hidden)
        drawn = page_text(visible.runs, entered, drawing.surface.rules)
        text = readable(drawn.text).text
        # A first line of nothing that can be seen is gone from the readable text, and all others have moved up.
        same_lines = text.count("\n") == drawn.text.count("\n")
        margins, unjoined = (drawn.margins, drawn.unjoined) if same_lines else ((), ())
        warnings = (*visible.warnings, *remarks(page))
        cut = missing or drawing.cut
        if cut:
            warnings = (f"part of it could not be read: {cut}", *warnings)
        # Only what the first reader does not know: where the file itself states nonsense, the second one errs as well.
        doubt = "unknown characters" if REPLACEMENT in drawn.text else ""
        if cut or drawing.guessed or (drawing.shown and not drawing.runs):
            doubt = doubt or "guesses"
        return _Reading(text, warnings, doubt, None, visible.hidden, margins, unjoined)

    def _checked(self, reading: _Reading, index: int) -> _Reading:
        """The reading, or a second one where that is the better one."""
        second = self._second.text(index) if self._second is not None else None
        if second is None or not second.text.strip() or not is_better(reading.text, second):
            return reading
        warnings = reading.warnings
        if reading.failed is not None:
            warnings = (f"read by another program library, for the first one failed: {reading.failed}",)
        return _Reading(second.text, warnings, margins=_found_again(reading, second.text))

    def _raw(self, reading: _Reading, remarks: tuple[str, ...]) -> RawPage:
        text, most = reading.text, self._limits.page_characters
        if reading.failed is not None:
            return _failed(reading.failed, remarks)
        if len(text) > most:
            return _failed(f"{len(text):,} characters, more than the limit of {most:,}", remarks)
        warnings = (*reading.warnings, *remarks)
        unknown = readable(text).unknown
        if unknown:
            warnings = (f"{count(unknown, 'character')} without a known meaning, shown as U+FFFD", *warnings)
        if not text.strip():
            warnings = ("no text" if remarks else "no text (image only?)", *warnings)
        return RawPage(text, None, warnings, reading.margins, reading.unjoined)


def _found_again(reading: _Reading, text: str) -> tuple[int, ...]:
    """Which lines of another reading, that tells no places, are those that the first one found in the margins."""
    lines = reading.text.split("\n")
    wanted = {" ".join(lines[at].split()) for at in reading.margins}
    others = [" ".join(line.split()) for line in text.split("\n")] if wanted else []
    times = Counter(others)
    return tuple(at for at, line in enumerate(others) if line in wanted and times[line] == 1)


@contextmanager
def _quiet() -> Iterator[Messages]:
    # No program outside this process is ever run on a document's data, so pypdf's JBIG2 helper is switched off.
    with captured() as messages, apply_configuration(jbig2dec_binary=None):
        yield messages


def _failed(reason: str, remarks: tuple[str, ...]) -> RawPage:
    return RawPage("", reason, (f"could not be read: {reason}", *remarks))
