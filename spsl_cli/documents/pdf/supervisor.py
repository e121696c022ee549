"""PDFs -> text by way of processes that parse them, shared out over the processor's cores. Knows no PDF itself.

A page that takes too long, or with which its process dies, is given up with a warning, and another process goes on
behind it. What a document gives does not depend on how many processes there are: its pages are cut into runs by their
number alone, and each run is read from a file opened afresh.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import TracebackType
from typing import Self

from spsl_cli.documents.pdf.job import Job
from spsl_cli.documents.pdf.process import ParserProcess
from spsl_cli.documents.pdf.reading import Run, open_file
from spsl_cli.documents.pdf.worker import StartError, StoppedError, Worker
from spsl_cli.documents.source import Extract, Source, UnreadableError
from spsl_cli.machine import cores

# Each may take as much memory as the limits allow, and they share one disk and one parent.
_MOST_PROCESSES = 16
# A fault of the installation, not of a file: thousands of files need not find it out anew.
_MOST_FAILED_STARTS = 3


def read_pdf(source: Source) -> Extract:
    """One file, with as many processes as pay. Raises UnreadableError."""
    with ParserPool() as pool:
        return pool.submit(source).extract.result()


class ParserPool:
    """A context: up to `processes` parsing processes, started when there is work, none left at its end.

    `start` starts one; tests put others in its place.
    """

    def __init__(self, processes: int | None = None, start: Callable[[], ParserProcess] = ParserProcess) -> None:
        self.processes = processes or min(cores(), _MOST_PROCESSES)
        self._start = start
        self._threads = ThreadPoolExecutor(self.processes, "pdf")
        self._own = threading.local()
        self._lock = threading.Lock()
        self._workers: list[Worker] = []
        self._closed = False
        self._failed_starts = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def submit(self, source: Source) -> Job:
        """Begins to read one file; files and their runs of pages are taken up in the order in which they come."""
        job = Job(source)
        self._threads.submit(self._guard, job, self._begin)
        return job

    def close(self) -> None:
        """Ends every process at once, whatever it is doing; files that are not finished never will be."""
        with self._lock:
            self._closed = True
            workers = self._workers[:]
        for worker in workers:
            worker.stop()
        self._threads.shutdown(cancel_futures=True)
        for worker in workers:
            worker.drop()

    def _guard(self, job: Job, work: Callable[[Job, Worker], None]) -> None:
        """Whatever goes wrong with a file becomes its result."""
        try:
            work(job, self._worker())
        except StoppedError:
            pass  # nobody waits for it any more
        except StartError as error:
            self._failed_starts += 1
            job.fail(UnreadableError(f"the process that parses PDFs does not start: {error}"))
        except Exception as error:  # noqa: BLE001 - told where the result is asked for
            job.fail(error)

    def _begin(self, job: Job, worker: Worker) -> None:
        outline, pdfium = open_file(worker, job)
        first, *others = job.begin(outline, pdfium=pdfium)
        for run in others:
            self._threads.submit(self._guard, job, partial(self._read, run))
        self._read(first, job, worker, opened=pdfium)

    def _read(self, run: range, job: Job, worker: Worker, *, opened: bool | None = None) -> None:
        Run(worker, job, run, opened=opened).read()
        job.end_run()

    def _worker(self) -> Worker:
        if self._failed_starts >= _MOST_FAILED_STARTS:
            raise StartError("it did not for files before")
        worker: Worker | None = getattr(self._own, "worker", None)
        if worker is None:
            worker = self._own.worker = Worker(self._start)
            with self._lock:
                if self._closed:
                    raise StoppedError
                self._workers.append(worker)
        return worker
