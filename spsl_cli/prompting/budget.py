"""How many new tokens fit behind a prompt, and an error that says by how much too many were wanted.

It knows numbers only: whoever calls it has the tokens, and warns when fewer than wanted remain.
"""

from __future__ import annotations

from spsl_cli.errors import PromptTooLongError

LEAST_ROOM = 16
"""Tokens: below this an answer that was not given a length is not worth starting."""


def check_fits(prompt_tokens: int, max_new_tokens: int, context_length: int, *, explicit: bool) -> int:
    """The number of tokens that may be generated: `max_new_tokens`, or the room that is left.

    Less than `max_new_tokens` comes back only if it was not asked for explicitly and at least `LEAST_ROOM` tokens of
    room remain. Otherwise PromptTooLongError, whose `excess` is the tokens by which prompt and new tokens exceed
    `context_length`.
    """
    room = context_length - prompt_tokens
    if max_new_tokens <= room:
        return max_new_tokens
    if not explicit and room >= LEAST_ROOM:
        return room
    excess = max_new_tokens - room
    choices = [
        "ask part by part with --overflow map-reduce",
        "give fewer or shorter documents",
        "choose a model with a longer context",
    ]
    if room > 0:
        choices.insert(0, f"use --max-new-tokens {room} or less")
    raise PromptTooLongError(
        f"the prompt of {prompt_tokens:,} tokens and {max_new_tokens:,} new tokens exceed the model's context of "
        f"{context_length:,} tokens by {excess:,}",
        excess=excess,
        hint=f"{', '.join(choices[:-1])}, or {choices[-1]}",
    )
