"""A parsing process and what it has at hand: a file is loaded, opened, and its pages asked for. Retries nothing."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, TypeVar

from spsl_cli.documents.limits import Limits
from spsl_cli.documents.pdf import protocol
from spsl_cli.documents.pdf.job import Job
from spsl_cli.documents.pdf.process import CrashedError, HungError, ParserProcess
from spsl_cli.documents.pdf.raw import Outline, RawPage
from spsl_cli.documents.pdf.replies import outline_of, page_of
from spsl_cli.documents.source import Source

# Starting Python and handing a file over, on a machine that is busy with something else.
_LOADING_SECONDS = 120.0
# A Ctrl-C that is meant for the parent may end a process while Python starts in it.
_STARTS = 2
# Opening may mean going through the whole file for its objects.
_OPENING_IN_PAGES = 3
# What parsing leaves behind in a process, in its memory and its processor time, is done with after so many files.
_MOST_FILES = 50


_T = TypeVar("_T")


class StartError(Exception):
    """No parsing process can be had; `str(error)` says why."""


class StoppedError(Exception):
    """The worker was told to stop."""


def opening_seconds(limits: Limits) -> float:
    """How long it may take to open a file."""
    return _OPENING_IN_PAGES * limits.page_seconds


class Worker:
    """Serves one thread; only `stop` may be called by others.

    A process that hangs or crashes is done away with at once, and the next call that needs one starts another.
    """

    def __init__(self, start: Callable[[], ParserProcess] = ParserProcess) -> None:
        self._start = start
        self._lock = threading.Lock()
        self._stopped = False
        self._process: ParserProcess | None = None
        self._loaded: Job | None = None
        self._limits: Limits | None = None
        self._files = 0
        self._busy = 0.0

    def open(self, job: Job, *, pdfium: bool) -> Outline:
        """The file of `job`, afresh. Raises UnreadableError, HungError, CrashedError, TimeIsUpError, StartError."""
        self._load(job)
        reply = self._ask(job, {"do": "open", "pdfium": pdfium}, opening_seconds(job.source.limits))
        return self._believe(lambda: outline_of(reply, job.source.limits))

    def page(self, job: Job, index: int) -> RawPage:
        """A page of the file that is open. Raises HungError, CrashedError, TimeIsUpError."""
        reply = self._ask(job, {"do": "page", "index": index}, job.source.limits.page_seconds)
        return self._believe(lambda: page_of(reply, job.source.limits))

    def drop(self) -> None:
        """Ends the process, if there is one."""
        with self._lock:
            process, self._process, self._loaded = self._process, None, None
        if process is not None:
            process.close()

    def stop(self) -> None:
        """Kills the process and lets none start any more."""
        with self._lock:
            self._stopped = True
            if self._process is not None:
                self._process.kill()

    def _load(self, job: Job) -> None:
        if self._loaded is job:
            return
        limits = job.source.limits
        # A process may lower what it is allowed, never raise it again.
        if self._files >= _MOST_FILES or self._busy > limits.document_seconds or limits != self._limits:
            self.drop()
        self._limits = limits
        process = self._prepared(job.source)
        try:
            process.send(job.source.data, _LOADING_SECONDS, protocol.longest_reply(limits))
        except (CrashedError, HungError):
            self.drop()
            raise
        self._loaded = job
        self._files += 1

    def _prepared(self, source: Source) -> ParserProcess:
        """A process that waits for the bytes of `source`."""
        request = {
            "do": "load",
            "name": source.name,
            "password": source.password,
            "limits": asdict(source.limits),
            "size": len(source.data),
        }
        reason = ""
        for _ in range(_STARTS):
            process = self._running()
            try:
                process.ask(request, _LOADING_SECONDS, protocol.longest_reply(source.limits))
            except (CrashedError, HungError) as error:
                self.drop()
                reason = str(error)
            else:
                return process
        raise StartError(reason)

    def _running(self) -> ParserProcess:
        with self._lock:
            if self._stopped:
                raise StoppedError
            if self._process is None:
                try:
                    self._process = self._start()
                except OSError as error:
                    raise StartError(str(error)) from error
                self._files, self._busy = 0, 0.0
            return self._process

    def _ask(self, job: Job, request: dict[str, Any], most: float) -> dict[str, Any]:
        process = self._running()
        begun = time.monotonic()
        try:
            with job.time(most) as seconds:
                return process.ask(request, seconds, protocol.longest_reply(job.source.limits))
        except (CrashedError, HungError):
            self.drop()
            raise
        finally:
            self._busy += time.monotonic() - begun

    def _believe(self, made: Callable[[], _T]) -> _T:
        try:
            return made()
        except protocol.ProtocolError as error:
            self.drop()
            raise CrashedError(f"its parser answers nonsense ({error})") from error
