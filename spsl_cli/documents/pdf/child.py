"""The process in which PDFs are parsed: `python -m spsl_cli.documents.pdf.child`, started by supervisor.py only.

It takes requests on its standard input and gives one reply to each on its standard output (protocol.py):
    load   {"limits": {...}, "password": str | null, "name": str, "size": int}   then, after its reply, the file's bytes
    open   {"pdfium": bool}     the loaded file, afresh; the reply is an Outline, or why it is unreadable
    page   {"index": int}       the reply is a RawPage
Each carries "seconds", the time in which the reply is due.

Before the first byte of a document comes in, the process gives up what parsing does not need. The system holds its
address space, processor time, open files, the size of files written (none) and of core dumps (none) down, where it
knows such limits: Windows knows none of them, macOS does not keep the one on address space. Python code in it can
neither open a socket nor start a program nor open a file for writing; code of a C library that a document took over
could still do what its user may, as there is no filter on system calls. It ends when the process that started it does.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import queue
import signal
import sys
import threading
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, BinaryIO

from spsl_cli.documents.limits import MEBIBYTE, Limits
from spsl_cli.documents.pdf import protocol
from spsl_cli.documents.source import Source, UnreadableError
from spsl_cli.documents.wording import failure

if TYPE_CHECKING:
    from spsl_cli.documents.pdf.extraction import PdfPages

_PR_SET_PDEATHSIG = 1
_OPEN_FILES = 48
_SPARE_SECONDS = 5
_LONGEST_REQUEST = MEBIBYTE
_FORBIDDEN = ("socket.", "subprocess.", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.system", "pty.")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


def main() -> None:
    """Serves requests until the stream of them ends."""
    requests, replies = _private_streams()
    _die_with_parent()
    incoming: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(requests, incoming), daemon=True).start()
    # The libraries are imported before the limits are set and before a document is here, and can print nothing.
    from spsl_cli.documents.pdf.extraction import PdfPages  # noqa: PLC0415

    gc.collect()
    gc.freeze()  # what the imports left is there to stay: looking through it would take longer than many a file
    sys.addaudithook(_refuse)
    sys.dont_write_bytecode = True
    try:
        _Server(incoming, replies, PdfPages).serve()
    except MemoryError:
        os._exit(protocol.OUT_OF_MEMORY)


class _Server:
    """What one request leaves for the next: the source and the open file."""

    def __init__(self, incoming: queue.SimpleQueue[bytes], replies: BinaryIO, pages: type[PdfPages]) -> None:
        self._incoming = incoming
        self._replies = replies
        self._open_pages = pages
        self._source: Source | None = None
        self._pages: PdfPages | None = None

    def serve(self) -> None:
        """Never returns; `_listen` ends the process."""
        while True:
            request = protocol.load(self._incoming.get())
            _limit_seconds(request["seconds"])
            reply = getattr(self, f"_do_{request['do']}")(request)
            protocol.write_frame(self._replies, protocol.dump(reply))

    def _do_load(self, request: dict[str, Any]) -> dict[str, Any]:
        """Makes room for the next file, then takes its bytes."""
        self._source = None
        self._drop()
        limits = Limits(**request["limits"])
        _limit_resources(limits, request["size"])
        protocol.write_frame(self._replies, protocol.dump({"ready": True}))
        self._source = Source(request["name"], self._incoming.get(), request["password"], limits)
        return {"loaded": len(self._source.data)}

    def _do_open(self, request: dict[str, Any]) -> dict[str, Any]:
        if self._source is None:
            raise protocol.ProtocolError("nothing is loaded")
        self._drop()
        try:
            self._pages = self._open_pages(self._source, pdfium=request["pdfium"])
        except UnreadableError as error:
            return {"unreadable": str(error)}
        except Exception as error:  # noqa: BLE001 - opening foresees what it can; the rest costs this file only
            return {"unreadable": f"broken PDF: {failure(error)}"}
        return {"outline": asdict(self._pages.outline)}

    def _drop(self) -> None:
        """Does away with the open file and what it holds."""
        if self._pages is not None:
            self._pages.close()
        self._pages = None
        gc.collect()

    def _do_page(self, request: dict[str, Any]) -> dict[str, Any]:
        if self._pages is None:
            raise protocol.ProtocolError("nothing is open")
        try:
            return {"page": asdict(self._pages.page(request["index"]))}
        except Exception as error:  # noqa: BLE001 - the same as above, for this page only
            return {"failed": failure(error)}


def _private_streams() -> tuple[BinaryIO, BinaryIO]:
    """Requests and replies, on descriptors that no library knows of: what one prints goes to standard error."""
    requests, replies = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return os.fdopen(requests, "rb"), os.fdopen(replies, "wb")


def _listen(requests: BinaryIO, incoming: queue.SimpleQueue[bytes]) -> None:
    """Reads ahead in a thread of its own, so that the end of the parent is noticed while a page is being parsed."""
    most = _LONGEST_REQUEST
    while True:
        frame = protocol.read_frame(requests, most)
        if frame is None:
            os._exit(0)
        if most == _LONGEST_REQUEST:
            request = protocol.load(frame)
            # The bytes of a file follow the request to load it.
            most = request["size"] if request["do"] == "load" else most
        else:
            most = _LONGEST_REQUEST
        incoming.put(frame)


def _die_with_parent() -> None:
    # Ctrl-C reaches every process of a terminal; what to do about it is the parent's decision.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    """An audit hook: once set, nothing in this process can take it away."""
    if event.startswith(_FORBIDDEN) or (event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITING):
        raise PermissionError(f"{event} is not allowed where documents are parsed")


def _limit_resources(limits: Limits, size: int) -> None:
    most_seconds = 2 * int(limits.document_seconds) + _SPARE_SECONDS
    _limit("RLIMIT_AS", limits.parser_bytes + size, limits.parser_bytes + limits.file_bytes)
    _limit("RLIMIT_CPU", most_seconds, most_seconds)
    _limit("RLIMIT_FSIZE", 0, 0)
    _limit("RLIMIT_CORE", 0, 0)
    _limit("RLIMIT_NOFILE", _OPEN_FILES, _OPEN_FILES)


def _limit_seconds(seconds: float) -> None:
    """A stop for the case that the parent, which would end this process sooner, does not."""
    _limit("RLIMIT_CPU", int(time.process_time() + seconds) + _SPARE_SECONDS, None)


def _limit(name: str, soft: int, hard: int | None) -> None:
    """Sets a limit, never above the one that holds; without `hard`, the hard one stays as it is."""
    try:
        import resource  # noqa: PLC0415 - Windows has none
    except ImportError:
        return
    kind = getattr(resource, name)
    _, highest = resource.getrlimit(kind)
    hard = highest if hard is None else hard
    if highest != resource.RLIM_INFINITY:
        hard = highest if hard == resource.RLIM_INFINITY else min(hard, highest)
    if hard != resource.RLIM_INFINITY:
        soft = min(soft, hard)
    # macOS refuses any limit on address space; the others are kept everywhere.
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(kind, (soft, hard))


if __name__ == "__main__":
    main()
