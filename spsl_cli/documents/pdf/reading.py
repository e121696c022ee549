"""Runs of pages read in spite of crashes and hangs: what is tried again, what is given up, and in which words."""

from __future__ import annotations

from dataclasses import replace

from spsl_cli.documents.pdf.job import Job, TimeIsUpError
from spsl_cli.documents.pdf.process import CrashedError, HungError
from spsl_cli.documents.pdf.raw import Outline, RawPage
from spsl_cli.documents.pdf.replies import lost
from spsl_cli.documents.pdf.worker import Worker, opening_seconds
from spsl_cli.documents.source import UnreadableError
from spsl_cli.documents.wording import count

MOST_CRASHES = 8
"""A run whose processes died this often is not read on."""

_MOST_PDFIUM_CRASHES = 3
_OUT_OF_MEMORY = "out of memory"


def open_file(worker: Worker, job: Job) -> tuple[Outline, bool]:
    """The outline of the file, and whether it was had with the library in C, which a second attempt does without.

    Raises UnreadableError, StartError.
    """
    crash = ""
    for pdfium in (True, False):
        try:
            outline = worker.open(job, pdfium=pdfium)
        except HungError as error:
            raise UnreadableError(f"it takes longer than {opening_seconds(job.source.limits):g} s to open") from error
        except TimeIsUpError as error:
            raise UnreadableError(_time_is_up(job)) from error
        except CrashedError as error:
            crash = str(error)
        else:
            return outline, pdfium
    raise UnreadableError(f"broken PDF: {crash}")


class Run:
    """The pages `indexes` of a file, each of which has a result in the end."""

    def __init__(self, worker: Worker, job: Job, indexes: range, *, opened: bool | None = None) -> None:
        """`opened` says how the file lies open in the worker already (None: it does not)."""
        self._worker = worker
        self._job = job
        self._indexes = indexes
        self._crashes = 0
        self._pdfium_crashes = 0
        self._open = opened

    def read(self) -> None:
        """Puts every page into the job. Raises UnreadableError when the job is over before its end, StartError."""
        for index in self._indexes:
            if self._job.given_up:
                return
            self._job.put(index, self._page(index))

    def _page(self, index: int) -> RawPage:
        if self._crashes >= MOST_CRASHES:
            return _not_read(f"the parser had crashed {count(self._crashes, 'time')} on pages before")
        crash = ""
        with_pdfium = self._job.pdfium and self._pdfium_crashes < _MOST_PDFIUM_CRASHES
        for pdfium in (True, False) if with_pdfium else (False,):
            try:
                page = self._attempt(index, pdfium=pdfium)
            except HungError:
                self._open = None
                if self._job.seconds_left <= 0:
                    return _not_read(_time_is_up(self._job))
                return lost(f"it takes longer than {self._job.source.limits.page_seconds:g} s")
            except TimeIsUpError:
                return _not_read(_time_is_up(self._job))
            except CrashedError as error:
                self._open = None
                self._crashes += 1
                self._pdfium_crashes += pdfium
                crash = str(error)
            else:
                return page if pdfium else _without_pdfium(page)
        return lost(crash)

    def _attempt(self, index: int, *, pdfium: bool) -> RawPage:
        if self._open is not pdfium:
            self._open = None
            try:
                self._worker.open(self._job, pdfium=pdfium)
            except UnreadableError as error:  # it could be opened before
                return lost(str(error))
            self._open = pdfium
        page = self._worker.page(self._job, index)
        if page.failed == _OUT_OF_MEMORY:
            # What filled the memory may still be there.
            self._worker.drop()
            self._open = None
        return page


def _not_read(reason: str) -> RawPage:
    return RawPage("", reason, (f"not read: {reason}",))


def _without_pdfium(page: RawPage) -> RawPage:
    return replace(page, warnings=(*page.warnings, "read by pypdf alone: pdfium crashed on this file"))


def _time_is_up(job: Job) -> str:
    return f"the file takes longer than {job.source.limits.document_seconds:g} s"
