"""Imports the heavy libraries in a thread while something else is done, such as waiting for a PDF's parser.

The thread is stopped at its next import where the program ends before: a wrong path is told at once, and Ctrl-C leaves
at once. Knows nothing of what is imported.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator
from importlib.machinery import ModuleSpec


class _Stopped(BaseException):
    """Ends the thread; no import catches it."""


class _Imports(threading.Thread):
    """Also a finder of modules that finds none, asked before all others: so it can end its own thread's imports."""

    def __init__(self) -> None:
        super().__init__(name="imports")
        self.unwanted = False

    def run(self) -> None:
        # Whatever fails here fails again where it is needed, and is told there.
        with contextlib.suppress(Exception, _Stopped):
            _import()

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:  # noqa: ARG002
        """None, or the end of this thread."""
        if self.unwanted and threading.current_thread() is self:
            raise _Stopped
        return None


_imports: _Imports | None = None


def _import() -> None:
    from spsl_cli.lean_imports import import_libraries  # noqa: PLC0415

    import_libraries()


@contextlib.contextmanager
def begun() -> Iterator[None]:
    """Within, the libraries are being imported. Behind, no thread does."""
    global _imports  # noqa: PLW0603 what is imported is the process's
    if _imports is not None:
        yield
        return
    _imports = _Imports()
    sys.meta_path.insert(0, _imports)
    _imports.start()
    try:
        yield
    finally:
        _imports.unwanted = True
        _imports.join()
        sys.meta_path.remove(_imports)
        _imports = None


def finish() -> None:
    """Import what is not imported yet, and return when all is there. Raises what an import raises."""
    if _imports is not None:
        _imports.join()
    _import()
