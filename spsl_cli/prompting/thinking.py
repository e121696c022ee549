"""What a reasoning model thinks, told apart from what it answers, as the tokens come.

Whether a block is open from the start is read off the prompt's last tokens; a model without marks is not touched. Marks
that are tokens are matched as tokens, never as text, so that an answer may spell them. This file does not know who is
shown what.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import groupby
from typing import TYPE_CHECKING

from spsl_cli.prompting.detokenize import IncrementalText
from spsl_cli.prompting.thinking_marks import CHANNEL, ENDS, MESSAGE, START, Pair, thinking_marks

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast


@dataclass(frozen=True, slots=True)
class Part:
    """Text in whole characters, and which of the two it belongs to."""

    text: str
    thinking: bool


# A message of gpt-oss has a header before <|message|>: a role, perhaps a recipient ("to=..."), and behind <|channel|>
# the channel. One for the reader has neither a channel of thinking nor a recipient.
_THINKING_CHANNEL = "analysis"
_RECIPIENT = "to="
_LONGEST_HEADER = 64  # characters; more is an answer that came without one

_TAIL = 32  # tokens of the prompt that are looked at: a mark, and white space or a header behind it


class _Region(Enum):
    BEGINNING = "nothing but white space yet"
    THINKING = "inside a block"
    ANSWER = "outside"
    HEADER = "before a message of gpt-oss"


class ThinkingText:
    """Detokenises a stream of ids into thinking and answer.

    Of the text that `IncrementalText` gives for the same ids, every character comes out in one `Part`, in order, but
    the marks and the white space beside them; two blocks or two answers are put an empty line apart. Without marks,
    and in an output that uses none, the answer is that text unchanged. `prompt_ids` are what the output follows.
    """

    def __init__(
        self, tokenizer: PreTrainedTokenizerFast, skip_ids: Collection[int] = (), prompt_ids: Sequence[int] = ()
    ) -> None:
        self._tokenizer = tokenizer
        self._skip_ids = frozenset(skip_ids)
        self._marks = thinking_marks(tokenizer)
        self._text = IncrementalText(tokenizer, self._skip_ids)
        self._region = _Region.BEGINNING if self._marks else _Region.ANSWER
        self._pair: Pair | None = None  # of the block that is open
        self._held = ""  # text that may be, or become, part of a mark
        self._label = ""  # what the beginning of a block may still say
        self._edge = False  # the white space to come stands beside a mark
        self._space = ""  # at the end of the thinking so far
        self._told: dict[bool, list[str]] = {True: [], False: []}
        if self._marks:
            self._follow(list(prompt_ids[-_TAIL:]))

    @property
    def text(self) -> str:
        """The answer given out so far."""
        return "".join(self._told[False])

    @property
    def thinking(self) -> str:
        """The thinking given out so far."""
        return "".join(self._told[True])

    @property
    def inside(self) -> bool:
        """Whether a block of thinking is open now; at the end of a run, that it was cut off."""
        return self._region is _Region.THINKING

    def push(self, ids: Iterable[int]) -> list[Part]:
        """Take the next ids; the text that is complete and placed with them."""
        parts: list[Part] = []
        for token in ids:
            if token not in self._skip_ids and self._acts(token):
                parts += self._end_text(token)
                if self._acts(token):  # what was held back may have been the beginning of an answer
                    self._mark(token)
                    continue
            parts += self._take(self._text.push([token]))
        return _joined(parts)

    def flush(self) -> list[Part]:
        """What is left at the end of the stream: an unfinished character, and what turned out to be no mark."""
        parts = self._end_text(None)
        if self._region is _Region.BEGINNING:
            parts += self._answer_held()
        return _joined(parts)

    # ---- tokens ------------------------------------------------------------------------------------------------------

    def _acts(self, token: int) -> bool:
        """Whether `token` is a mark here; otherwise it is text like any other."""
        if token in self._marks.channels:
            return True
        pair = self._marks.tokens.get(token)
        if pair is None:
            return False
        if self._region is _Region.THINKING:
            return pair is self._pair and not self._opens(token, pair)
        may_open = self._region is _Region.BEGINNING or token in self._marks.control
        return may_open and self._opens(token, pair)

    def _opens(self, token: int, pair: Pair) -> bool:
        return token == self._tokenizer.convert_tokens_to_ids(pair.opening)

    def _mark(self, token: int) -> None:
        pair = self._marks.tokens.get(token)
        if pair is None:
            self._channel_mark(self._marks.channels[token])
        elif self._region is _Region.THINKING:
            self._enter(_Region.ANSWER)
        else:
            self._enter(_Region.THINKING, pair)

    def _channel_mark(self, mark: str) -> None:
        header = self._held
        if mark == MESSAGE:
            channel = header.partition("\n")[2].split()[:1]
            thinks = channel == [_THINKING_CHANNEL] or _RECIPIENT in header
            self._enter(_Region.THINKING if thinks else _Region.ANSWER)
        elif mark == CHANNEL:
            self._enter(_Region.HEADER)
            self._held = f"{header}\n"
        else:
            self._enter(_Region.HEADER if mark == START else _Region.BEGINNING)

    def _enter(self, region: _Region, pair: Pair | None = None) -> None:
        self._region, self._pair = region, pair
        self._label = pair.label if pair else ""
        self._held, self._space, self._edge = "", "", True

    def _follow(self, prompt: list[int]) -> None:
        """Begin where `prompt` ends: inside a block that it has opened, or in the header of a message."""
        starts = [at for at, token in enumerate(prompt) if self._marks.channels.get(token) == START]
        if starts:
            self.push(prompt[starts[-1] :])
            self._told = {True: [], False: []}
            self._text = IncrementalText(self._tokenizer, self._skip_ids)
            if self._region is _Region.HEADER:
                self._held, self._edge = self._held.partition("assistant")[2], False
            return
        if (pair := self._opened_by(prompt)) is not None:
            self._enter(_Region.THINKING, pair)

    def _opened_by(self, prompt: list[int]) -> Pair | None:
        """The pair whose opening mark `prompt` ends with, white space and a label aside."""
        for at in reversed(range(len(prompt))):
            if (pair := self._marks.tokens.get(prompt[at])) is not None:
                behind = self._raw(prompt[at + 1 :]).strip()
                opened = self._opens(prompt[at], pair) and behind in ("", pair.label.strip())
                return pair if opened else None
        end = self._raw(prompt).rstrip()
        return next((pair for pair in self._marks.written if end.endswith(pair.opening)), None)

    def _raw(self, ids: list[int]) -> str:
        return str(self._tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False))

    # ---- text --------------------------------------------------------------------------------------------------------

    def _end_text(self, mark: int | None) -> list[Part]:
        """The text up to `mark`, or to the end (None), by itself: what was held back because it might have been one."""
        parts = self._take(self._text.flush())
        self._text = IncrementalText(self._tokenizer, self._skip_ids)
        if self._region is _Region.THINKING:
            held, self._held = self._held, ""
            return parts + self._tell(held, thinking=True)
        # A first message may come without a header.
        no_header = (
            self._region is _Region.HEADER and not self._edge and (mark is None or self._marks.channels[mark] in ENDS)
        )
        if no_header or (self._region is _Region.BEGINNING and self._held.strip()):
            parts += self._answer_held()
        return parts

    def _take(self, text: str) -> list[Part]:
        if not text:
            return []
        self._held += text
        match self._region:
            case _Region.BEGINNING:
                return self._begin()
            case _Region.THINKING:
                return self._think()
            case _Region.HEADER if len(self._held) <= _LONGEST_HEADER:
                return []
        return self._answer_held()

    def _answer_held(self) -> list[Part]:
        held, self._held, self._region = self._held, "", _Region.ANSWER
        return self._tell(held, thinking=False)

    def _begin(self) -> list[Part]:
        start = self._held.lstrip()
        for pair in self._marks.written:
            if start.startswith(pair.opening):
                self._enter(_Region.THINKING, pair)
                return self._take(start.removeprefix(pair.opening))
        if not start or any(pair.opening.startswith(start) for pair in self._marks.written):
            return []
        return self._answer_held()

    def _think(self) -> list[Part]:
        if self._label:
            start = self._held.lstrip()
            if self._label.startswith(start) and start != self._label:
                return []
            self._held, self._label = start.removeprefix(self._label), ""
        if self._pair not in self._marks.written:
            held, self._held = self._held, ""
            return self._tell(held, thinking=True)
        closing = self._pair.closing
        before, mark, behind = self._held.partition(closing)
        if mark:
            parts = self._tell(before, thinking=True)
            self._enter(_Region.ANSWER)
            return parts + self._take(behind)
        kept = next((size for size in range(len(closing) - 1, 0, -1) if before.endswith(closing[:size])), 0)
        self._held = before[len(before) - kept :]
        return self._tell(before[: len(before) - kept], thinking=True)

    def _tell(self, text: str, *, thinking: bool) -> list[Part]:
        if self._edge:
            text = text.lstrip()
            if text and self._told[thinking]:
                text = f"\n\n{text}"
            self._edge = not text
        if thinking:
            body = (self._space + text).rstrip()
            self._space = (self._space + text)[len(body) :]
            text = body
        if not text:
            return []
        self._told[thinking].append(text)
        return [Part(text, thinking)]


def _joined(parts: list[Part]) -> list[Part]:
    """Neighbours of the same kind put together."""
    return [Part("".join(part.text for part in run), kind) for kind, run in groupby(parts, lambda part: part.thinking)]
