"""The model's chat template, split around what is said: the token ids that go before, between and after.

What the template itself writes may hold control tokens; what the user brings, the system text too, is data. This file
does not know what the content will be. Templates run in the sandboxed Jinja of transformers.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import jinja2

from spsl_cli.errors import UnsupportedModelError
from spsl_cli.prompting.data_tokens import DataEncoder

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

NO_TEMPLATE = "the model has no chat template: documents and question are given to it as plain text"
NO_SYSTEM_ROLE = "the model's chat template takes no system message: the system text stands in front of the documents"

# A template is a program of the model's author: it can fail in any of these ways.
_FAILURES = (jinja2.TemplateError, ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
_LONGEST_REASON = 200  # characters


@dataclass(frozen=True)
class Template:
    """What stands around the user's content.

    `before` and `after` are token ids, BOS included where the model wants one; `between` those behind each content but
    the last, where earlier turns stand before it. `lead` is text that has to open the content: the system text, where
    the template has no place for it, else empty. `chat` tells whether there was a chat template; `notes` are facts for
    the user.
    """

    before: list[int]
    after: list[int]
    lead: str
    chat: bool
    notes: tuple[str, ...] = ()
    between: tuple[list[int], ...] = ()


def split_template(tokenizer: PreTrainedTokenizerFast, encoder: DataEncoder, system: str, turns: int = 0) -> Template:
    """Render the chat template once around marks and split it there; an empty `system` means no system message.

    `turns`: so many times the user has asked and the model has answered before: the contents are question, answer,
    question, ..., and at last the question that is open.
    Raises UnsupportedModelError if the template fails, or does not give every content back as it is, once and in order.
    """
    if not tokenizer.chat_template:
        between: tuple[list[int], ...] = tuple([] for _ in range(2 * turns))
        return Template(_with_bos(tokenizer, []), [], system, chat=False, notes=(NO_TEMPLATE,), between=between)
    contents, system_mark = [_mark() for _ in range(2 * turns + 1)], _mark()
    rendered = _render_with_system(tokenizer, contents, system_mark) if system else None
    refused = bool(system) and rendered is None
    if rendered is None:
        rendered = _render(tokenizer, _messages(contents))
    for mark in contents:
        if (times := rendered.count(mark)) != 1:
            raise UnsupportedModelError(
                f"the model's chat template gives the user's message back {times} times instead of once",
                hint="choose a model whose chat template takes plain text messages",
            )
    gaps = re.split("|".join(contents), rendered)
    if sorted(contents, key=rendered.index) != contents:
        raise UnsupportedModelError(
            "the model's chat template does not keep messages in their order",
            hint="choose a model whose chat template does",
        )
    sides: list[list[int]] = []
    for gap in gaps:
        ids: list[int] = []
        for number, text in enumerate(gap.split(system_mark)):
            # The system text stands in every gap but the first, that is, in one place at most.
            ids += encoder.encode(system) if number else []
            ids += _template_ids(tokenizer, encoder, text, opens=not sides and not number)
        sides.append(ids)
    return Template(
        before=_with_bos(tokenizer, sides[0]),
        after=sides[-1],
        lead=system if refused else "",
        chat=True,
        notes=(NO_SYSTEM_ROLE,) if refused else (),
        between=tuple(sides[1:-1]),
    )


def _mark() -> str:
    """A text that no template contains, and that none has a reason to trim, escape or translate."""
    return f"mark{secrets.token_hex(16)}"


def _messages(contents: Sequence[str]) -> list[dict[str, str]]:
    """User and assistant by turns."""
    roles = ("user", "assistant")
    return [{"role": roles[number % 2], "content": content} for number, content in enumerate(contents)]


def _render_with_system(tokenizer: PreTrainedTokenizerFast, contents: Sequence[str], system: str) -> str | None:
    """The rendered template, or None if it refuses a system message, drops it or repeats it."""
    try:
        rendered = _render(tokenizer, [{"role": "system", "content": system}, *_messages(contents)])
    except UnsupportedModelError:
        return None  # If the system message was not the reason, the template fails again without it.
    return rendered if rendered.count(system) == rendered.count(contents[0]) == 1 else None


def _render(tokenizer: PreTrainedTokenizerFast, messages: list[dict[str, str]]) -> str:
    try:
        rendered = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    except _FAILURES as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise UnsupportedModelError(
            f"the model's chat template fails: {reason[:_LONGEST_REASON]}",
            hint="choose a model whose chat template takes one plain text message of the user",
        ) from error
    return str(rendered)


def _template_ids(tokenizer: PreTrainedTokenizerFast, encoder: DataEncoder, text: str, *, opens: bool) -> list[int]:
    """`text` with its control tokens parsed; `opens` tells that it begins the prompt.

    Elsewhere no space may be put in front of it, which `tokenizer` would do for some models: what stands before its
    first control token then goes the way of data, which puts none there and finds the same pieces.
    """
    encoding = tokenizer(text, add_special_tokens=False, split_special_tokens=False, return_offsets_mapping=True)
    ids: list[int] = encoding["input_ids"]
    if opens:
        return ids
    spans = zip(ids, encoding["offset_mapping"], strict=True)
    first = next((start for token, (start, _) in spans if token in encoder.control_ids), len(text))
    rest = tokenizer(text[first:], add_special_tokens=False, split_special_tokens=False)
    return encoder.encode(text[:first]) + list(rest["input_ids"])


def _with_bos(tokenizer: PreTrainedTokenizerFast, ids: list[int]) -> list[int]:
    """`ids` with the BOS in front that the tokenizer gives every input by default, unless one stands there already."""
    bos = tokenizer.bos_token_id
    wanted = bos is not None and list(tokenizer("")["input_ids"])[:1] == [bos]
    return [bos, *ids] if wanted and ids[:1] != [bos] else ids
