"""The model's chat template, split around the user's content: the token ids that go before it and after it.

What the template itself writes may hold control tokens; what the user brings, the system text too, is data. This file
does not know what the content will be. Templates run in the sandboxed Jinja of transformers.
"""

from __future__ import annotations

import secrets
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

    `before` and `after` are token ids, BOS included where the model wants one. `lead` is text that has to open the
    content: the system text, where the template has no place for it, else empty. `chat` tells whether there was a
    chat template; `notes` are facts for the user.
    """

    before: list[int]
    after: list[int]
    lead: str
    chat: bool
    notes: tuple[str, ...] = ()


def split_template(tokenizer: PreTrainedTokenizerFast, encoder: DataEncoder, system: str) -> Template:
    """Render the chat template once around a mark and split it there; an empty `system` means no system message.

    Raises UnsupportedModelError if the template fails, or does not give the content back as it is, exactly once.
    """
    if not tokenizer.chat_template:
        return Template(_with_bos(tokenizer, []), [], system, chat=False, notes=(NO_TEMPLATE,))
    content_mark, system_mark = _mark(), _mark()
    rendered = _render_with_system(tokenizer, content_mark, system_mark) if system else None
    refused = bool(system) and rendered is None
    if rendered is None:
        rendered = _render(tokenizer, [{"role": "user", "content": content_mark}])
    if (times := rendered.count(content_mark)) != 1:
        raise UnsupportedModelError(
            f"the model's chat template gives the user's message back {times} times instead of once",
            hint="choose a model whose chat template takes plain text messages",
        )
    sides: list[list[int]] = []
    for side in rendered.split(content_mark):
        ids: list[int] = []
        for number, text in enumerate(side.split(system_mark)):
            # The system text stands in every gap but the first, that is, in one place at most.
            ids += encoder.encode(system) if number else []
            ids += _template_ids(tokenizer, encoder, text, opens=not sides and not number)
        sides.append(ids)
    return Template(
        before=_with_bos(tokenizer, sides[0]),
        after=sides[1],
        lead=system if refused else "",
        chat=True,
        notes=(NO_SYSTEM_ROLE,) if refused else (),
    )


def _mark() -> str:
    """A text that no template contains, and that none has a reason to trim, escape or translate."""
    return f"mark{secrets.token_hex(16)}"


def _render_with_system(tokenizer: PreTrainedTokenizerFast, content: str, system: str) -> str | None:
    """The rendered template, or None if it refuses a system message, drops it or repeats it."""
    messages = [{"role": "system", "content": system}, {"role": "user", "content": content}]
    try:
        rendered = _render(tokenizer, messages)
    except UnsupportedModelError:
        return None  # If the system message was not the reason, the template fails again without it.
    return rendered if rendered.count(system) == rendered.count(content) == 1 else None


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
