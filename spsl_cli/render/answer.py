"""The answer on standard output, as text or as one JSON object. It knows nothing of how the answer came about."""

from __future__ import annotations

import json
import math
from typing import Any

from spsl_cli.render.sanitise import clean, escape_unsafe, strip_controls
from spsl_cli.render.streams import Streams


def write_answer(streams: Streams, text: str, *, markdown: bool = False) -> None:
    """Write `text` with exactly one newline at its end; on a terminal without hidden format characters too.

    With `markdown` (the text is a model's, not a document's) its Markdown is drawn where escape codes are allowed.
    Raises what `Stream.write` raises.
    """
    if markdown and streams.out.styled:
        from spsl_cli.render.markdown import write_markdown  # noqa: PLC0415 - Rich is slow to import

        write_markdown(streams.out, answer_text(streams, text))
    else:
        streams.out.write(answer_text(streams, text))


def answer_text(streams: Streams, text: str) -> str:
    """`text` as it was written, for a file as well: no control sequences, one newline at its end."""
    safe = clean(text) if streams.out.is_terminal else strip_controls(text)
    return safe.rstrip("\n") + "\n"


def write_json(streams: Streams, obj: Any) -> None:
    """Write `obj` as one JSON object on one line (`json_text`). Raises what `Stream.write` raises."""
    streams.out.write(json_text(obj, ascii_only=not streams.out.unicode) + "\n")


def json_text(obj: Any, *, ascii_only: bool = False) -> str:
    """`obj` as JSON that every parser reads and no terminal obeys.

    NaN and infinities become null, lone surrogates U+FFFD; control and hidden format characters are escaped, and with
    `ascii_only` everything else that is not ASCII.
    """
    text = escape_unsafe(json.dumps(_finite(obj), ensure_ascii=False, allow_nan=False))
    if ascii_only:
        text = json.dumps(json.loads(text), ensure_ascii=True, allow_nan=False)
    return text


def _finite(obj: Any) -> Any:
    if isinstance(obj, float) and not math.isfinite(obj):
        return None
    if isinstance(obj, dict):
        return {key: _finite(value) for key, value in obj.items()}
    if isinstance(obj, list | tuple):
        return [_finite(value) for value in obj]
    return obj
