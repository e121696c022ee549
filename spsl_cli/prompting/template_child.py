"""The process in which a user's prompt template is rendered: started by user_template.py only, for one request.

A template is a program: nested loops without output, or one long multiplication, cannot be stopped from within. So it
runs here, in Jinja's sandbox, where the system ends what takes too much processor time or address space; Windows has
no such limits and macOS not the one on address space, there the parent's patience is all. Nothing in a template is
random, and it can load no other file.

The request is {"source": str, "names": [str], "facts": {...} | null}; without facts the template is only checked. The
reply is {"text": str}, or {"error": str, "line": int | null}.
"""

from __future__ import annotations

import contextlib
import difflib
import sys
from types import TracebackType
from typing import Any

import jinja2
from jinja2 import meta, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

from spsl_cli.documents.pdf import protocol

CPU_SECONDS = 3
MEMORY_BYTES = 512 << 20
LONGEST_TEXT = 100_000
"""Characters; longer requests are an error."""
LONGEST_REQUEST = 64 << 20
"""Bytes of a frame: the source, and what a template may know of very many documents."""

_LONGEST_REASON = 300  # characters


def main() -> None:
    """Serve the one request."""
    frame = protocol.read_frame(sys.stdin.buffer, LONGEST_REQUEST)
    if frame is None:
        return
    request = protocol.load(frame)
    _limit_resources()
    reply = answer(request["source"], request["names"], request["facts"])
    protocol.write_frame(sys.stdout.buffer, protocol.dump(reply))


def answer(source: str, names: list[str], facts: dict[str, Any] | None) -> dict[str, Any]:
    """The reply for the template `source`, whose variables are `names`; `facts` are their values."""
    environment = _environment()
    try:
        unknown = _unknown_name(environment, source, names)
        if unknown is not None:
            return unknown
        template = environment.from_string(source)
        return _render(template, facts) if facts is not None else {"text": ""}
    except jinja2.TemplateSyntaxError as error:
        return _failed(error.message or "it is no valid template", error.lineno)
    except MemoryError:
        return _failed(f"it takes more memory than {MEMORY_BYTES >> 20} MiB", None)
    except Exception as error:  # noqa: BLE001 - it is the user's program: it can fail in any way
        known = isinstance(error, jinja2.TemplateError)
        return _failed(f"{error}" if known else f"{type(error).__name__}: {error}", _line(error.__traceback__))


def _environment() -> ImmutableSandboxedEnvironment:
    environment = ImmutableSandboxedEnvironment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=_not_none
    )
    del environment.globals["lipsum"], environment.filters["random"]
    return environment


def _not_none(value: object) -> object:
    """What is printed. A question that a summary does not have must not stand in the prompt as the word None."""
    if value is None:
        raise jinja2.TemplateRuntimeError("a value that is not there (none) would be printed: put it into an {% if %}")
    return value


def _unknown_name(environment: jinja2.Environment, source: str, names: list[str]) -> dict[str, Any] | None:
    """The error for a variable that a template cannot have, wherever it stands; None if there is none."""
    tree = environment.parse(source)
    unknown = meta.find_undeclared_variables(tree) - set(names) - set(environment.globals)
    uses = [node for node in tree.find_all(nodes.Name) if node.name in unknown]
    if not uses:
        return None
    first = min(uses, key=lambda node: node.lineno)
    near = difflib.get_close_matches(first.name, names, n=1)
    advice = f"did you mean {near[0]}?" if near else f"there are {', '.join(names)}"
    return _failed(f"{first.name!r} is undefined: {advice}", first.lineno)


def _render(template: jinja2.Template, facts: dict[str, Any]) -> dict[str, Any]:
    pieces, length = [], 0
    for piece in template.generate(facts):
        length += len(piece)
        if length > LONGEST_TEXT:
            return _failed(f"it renders more than {LONGEST_TEXT:,} characters", None)
        pieces.append(piece)
    return {"text": "".join(pieces)}


def _failed(reason: str, line: int | None) -> dict[str, Any]:
    return {"error": " ".join(reason.split())[:_LONGEST_REASON], "line": line}


def _line(trace: TracebackType | None) -> int | None:
    """The line of the template in which it happened: Jinja writes it into the trace."""
    line = None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "<template>":
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def _limit_resources() -> None:
    try:
        import resource  # noqa: PLC0415 - Windows has none
    except ImportError:
        return
    for kind, most in (
        (resource.RLIMIT_CPU, CPU_SECONDS),
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_CORE, 0),
    ):
        # macOS refuses any limit on address space, and a lower one may hold already; the others are kept.
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(kind, (most, most))


if __name__ == "__main__":
    main()
