"""A parsing process that goes wrong as it is told: `python -m tests.unit.faulty_child`, for test_documents_child.py.

Its "files" are JSON: {"total": pages, "open": fault, "pages": {index: fault}}, up to a NUL byte. Everything but what
stands in for the parsing of a PDF is the real process.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from spsl_cli.documents.pdf import child, extraction, protocol
from spsl_cli.documents.pdf.raw import Outline, RawPage
from spsl_cli.documents.source import UnreadableError


class Pages:
    """In place of PdfPages."""

    def __init__(self, source, *, pdfium=True):
        told = json.loads(source.data.partition(b"\0")[0])
        self.faults = told.get("pages", {})
        self.pdfium = pdfium
        self.limits = source.limits
        self.password = source.password
        if told.get("open"):
            self.act(told["open"])
        labels = tuple(told.get("labels", [None] * told["total"]))
        self.outline = Outline(told["total"], labels, tuple(told.get("warnings", ())))

    def page(self, index):
        fault = self.faults.get(str(index))
        found = self.act(fault) if fault else None
        return found if isinstance(found, RawPage) else RawPage(found or f"Page {index + 1}.")

    def close(self):
        pass

    def act(self, fault):
        return getattr(self, fault.replace("-", "_"))()

    def crash(self):
        os.kill(os.getpid(), signal.SIGSEGV)

    def crash_with_pdfium(self):
        if self.pdfium:
            os.kill(os.getpid(), signal.SIGSEGV)

    def hang(self):
        time.sleep(600)

    def slow(self):
        time.sleep(0.2)

    def end(self):
        sys.stderr.write("the library gave up\n")
        sys.stderr.flush()
        os._exit(3)

    def raise_(self):
        raise ZeroDivisionError("a\nfault")

    def refuse(self):
        raise UnreadableError("broken PDF: no\npages")

    def fill_memory(self):
        held = []
        while True:
            held.append(bytes(64 << 20))

    def recurse(self):
        return self.recurse()

    def print_(self):
        print("stray print")  # noqa: T201
        os.write(1, b"stray bytes\n")
        os.write(2, b"more of them\n" * 20_000)
        assert sys.stdin.read() == ""

    def flood(self):
        return RawPage("x" * 40_000_000)

    def long(self):
        return RawPage("x" * (self.limits.page_characters + 1))

    def foreign(self):
        return RawPage("a\fb\x1b[31mc\ud800d\re", None, ("two\nlines \x1b[0m",) * 30)

    def wrong_type(self):
        return RawPage(["not", "text"])

    def nonsense(self):
        # The reply that follows is cut short by what looks like a very long one.
        protocol._LENGTH = type("Length", (), {"size": 4, "pack": lambda _: b"\xff\xff\xff\xff"})

    def not_json(self):
        protocol.dump = lambda _: b"[1, 2"

    def socket(self):
        return attempt(socket.socket)

    def resolve(self):
        return attempt(lambda: socket.getaddrinfo("localhost", 80))

    def spawn(self):
        return attempt(lambda: subprocess.run([sys.executable, "-c", ""], check=False))

    def fork(self):
        return attempt(os.fork)

    def write(self):
        return attempt(lambda: Path("written.txt").write_text("x"))

    def limited(self):
        names = ("RLIMIT_AS", "RLIMIT_CPU", "RLIMIT_FSIZE", "RLIMIT_CORE", "RLIMIT_NOFILE")
        return json.dumps({name: resource.getrlimit(getattr(resource, name)) for name in names})

    def modules(self):
        return json.dumps(sorted({"torch", "transformers", "rich", "typer"} & set(sys.modules)))

    def surroundings(self):
        return json.dumps([sys.argv, dict(os.environ), self.password])

    def pid(self):
        return str(os.getpid())


def attempt(action):
    try:
        action()
    except Exception as error:  # noqa: BLE001
        return f"{type(error).__name__}: {error}"
    return "done"


if __name__ == "__main__":
    extraction.PdfPages = Pages
    child.main()
