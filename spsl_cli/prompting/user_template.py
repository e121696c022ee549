"""A user's own wording of the request, as a Jinja2 template: read, checked, and rendered in a process of its own.

It knows the facts that a template may use, not what the built-in wording is nor where the request stands. What a
template gives is data like everything else that a user brings.
"""

from __future__ import annotations

import functools
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from spsl_cli.documents.pdf import protocol
from spsl_cli.documents.pdf.process import CrashedError, HungError, ParserProcess
from spsl_cli.errors import SpslError, UsageError

MODULE = "spsl_cli.prompting.template_child"
LONGEST_SOURCE = 100_000
"""Bytes."""

_PATIENCE_S = 30.0
_LONGEST_REPLY = 2 << 20
_RENDERINGS_KEPT = 256


@dataclass(frozen=True, slots=True)
class DocumentFacts:
    """A document as a template knows it: the name in its header, and its pages (1 for kinds without any)."""

    name: str
    paged: bool
    pages: int


@dataclass(frozen=True, slots=True)
class RequestFacts:
    """The variables of a template. Those that a task does not have are None.

    `task` is `ask` or `summarize`, `length` in words, `cite` one of `none`, `pages` and `quotes`. `stage`: `whole`, or
    with documents too long for one prompt `part` for some of them and `merge` for what was said of parts, which then
    are the documents. `paged`: whether any document has pages to be cited. `above` is "the document above" or "the
    documents above".
    """

    task: str
    question: str | None
    focus: str | None
    length: int | None
    cite: str
    stage: str
    documents: tuple[DocumentFacts, ...]
    paged: bool
    above: str


@dataclass(frozen=True, slots=True)
class UserTemplate:
    """A template that has been read and checked; `path` is its file, for errors."""

    path: str
    source: str

    def render(self, facts: RequestFacts) -> str:
        """The request in the template's words, without white space around it.

        Raises UsageError, with the line, if the template fails on these facts, gives nothing, or takes too much time,
        memory or room.
        """
        # As JSON, facts can be the key of what was rendered before: the parts of long documents ask more than once.
        text = _rendered(self.path, self.source, protocol.dump(asdict(facts))).strip()
        if not text:
            raise UsageError(f"the prompt template {self.path} renders to nothing", hint="it has to say what is asked")
        return text


def load_user_template(path: str) -> UserTemplate:
    """Read and check the template in the file `path` (`~` is the home folder).

    Raises UsageError if it cannot be read, is no valid template, or uses a variable that there is not.
    """
    source = _read(path)
    _ask(path, source, None)
    return UserTemplate(path, source)


def _read(path: str) -> str:
    try:
        with Path(path).expanduser().open("rb") as file:
            data = file.read(LONGEST_SOURCE + 1)
    except (OSError, ValueError, RuntimeError) as error:  # also a name with a null byte, or no home folder
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"the prompt template {path} cannot be read: {reason}", hint="give a file of text") from error
    if len(data) > LONGEST_SOURCE:
        raise UsageError(f"the prompt template {path} is longer than {LONGEST_SOURCE:,} bytes")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UsageError(f"the prompt template {path}, line {line}: not UTF-8", hint="save it as UTF-8") from error


@functools.lru_cache(maxsize=_RENDERINGS_KEPT)
def _rendered(path: str, source: str, facts: bytes) -> str:
    return _ask(path, source, protocol.load(facts))


def _ask(path: str, source: str, facts: dict[str, Any] | None) -> str:
    request = {"source": source, "names": [field.name for field in fields(RequestFacts)], "facts": facts}
    try:
        process = ParserProcess(MODULE)
    except OSError as error:
        raise SpslError(f"the process that renders {path} does not start: {error.strerror or error}") from error
    try:
        reply = process.ask(request, _PATIENCE_S, _LONGEST_REPLY)
    except (CrashedError, HungError) as error:
        raise UsageError(
            f"the prompt template {path} takes more time or memory than a template may", hint="look at its loops"
        ) from error
    finally:
        process.close()
    if "error" in reply:
        where = path if reply["line"] is None else f"{path}, line {reply['line']}"
        raise UsageError(f"the prompt template {where}: {reply['error']}")
    return str(reply["text"])
