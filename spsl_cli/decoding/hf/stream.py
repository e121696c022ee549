"""New tokens for Hugging Face's streamers, in the shapes and the order in which `generate` itself hands them over."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import Any, Protocol

import torch
from transformers import GenerationMixin

from spsl_cli.events import Done, Event, Tokens


class Streamer(Protocol):
    """What `generate` asks of a streamer; see `transformers.generation.streamers.BaseStreamer`."""

    def put(self, value: torch.Tensor) -> None:
        """Take token ids: first the prompt, later one token of every row."""
        ...

    def end(self) -> None:
        """No more tokens will come."""
        ...


def arguments_of_generate(caller: FrameType | None) -> Mapping[str, Any]:
    """The arguments and variables of `generate`, if `caller` is a frame of it; empty otherwise.

    `generate` hands neither its `streamer` nor its `assistant_model` on to a `custom_generate` function, and there is
    no public way to ask for them. But it has already put the prompt into the streamer, and whoever reads a
    `TextIteratorStreamer` that nobody ends waits for ever; an assistant would be ignored without a word. So they are
    taken from where they are.
    """
    generate = inspect.unwrap(GenerationMixin.generate)
    if caller is None or caller.f_code is not generate.__code__:
        return {}
    return dict(caller.f_locals)


@contextmanager
def streaming(own: Streamer | None, given: Streamer | None, prompt: torch.Tensor) -> Iterator[list[Streamer]]:
    """The streamers to feed, ended afterwards in any case.

    own: that of `generate`, which has put the prompt into it. given: another one, which gets it here.
    """
    with ExitStack() as stack:
        streamers = [] if own is None else [own]
        if given is not None and given is not own:
            streamers.append(given)
        for streamer in streamers:
            stack.callback(streamer.end)
            if streamer is not own:
                streamer.put(prompt.cpu())
        yield streamers


class TokenFeed:
    """Puts one token of every row at a time, [R] on the CPU, as soon as all rows have it; ended rows are padded."""

    def __init__(self, streamers: Sequence[Streamer], rows: int, fill: int) -> None:
        self._streamers, self._fill, self._told = streamers, fill, 0
        self._rows: list[list[int]] = [[] for _ in range(rows)]
        self._ended: set[int] = set()

    def tell(self, event: Event) -> None:
        """Take note of an event of the decoding, and put what it makes known."""
        if not self._streamers:
            return
        if isinstance(event, Tokens):
            self._rows[event.sequence].extend(event.token_ids)
        elif isinstance(event, Done):
            self._ended.add(event.sequence)
        while self._next_is_known():
            tokens = [row[self._told] if self._told < len(row) else self._fill for row in self._rows]
            for streamer in self._streamers:
                streamer.put(torch.tensor(tokens))
            self._told += 1

    def _next_is_known(self) -> bool:
        short = [sequence for sequence, row in enumerate(self._rows) if len(row) <= self._told]
        return len(short) < len(self._rows) and self._ended.issuperset(short)
