"""What a caller hands to the decoder, checked and brought into one form; errors say what to give instead."""

from __future__ import annotations

import operator
from collections.abc import Collection, Mapping, Sequence
from typing import SupportsIndex

import torch

from spsl_cli.decoding.config import is_whole

LONGEST = 2**31
TokenIds = Sequence[int] | torch.Tensor
"""A prompt: list[int], or LongTensor [T] or [1, T]."""


def token_list(input_ids: TokenIds) -> list[int]:
    """The prompt as a list. ValueError for a tensor of another shape or type, TypeError for what is none at all."""
    if isinstance(input_ids, torch.Tensor):
        one = input_ids.dim() == 1 or (input_ids.dim() == 2 and input_ids.shape[0] == 1)  # noqa: PLR2004
        if not one or input_ids.is_floating_point() or input_ids.dtype is torch.bool:
            shape = list(input_ids.shape)
            raise ValueError(f"input_ids must be whole numbers [T] or [1, T], got {input_ids.dtype} {shape}")
        return list(map(int, input_ids.flatten().tolist()))
    if isinstance(input_ids, Mapping):
        raise TypeError("input_ids must be token ids, got all that the tokenizer returned: give its ['input_ids']")
    return whole_numbers("input_ids", input_ids)


def whole_numbers(name: str, values: Collection[int]) -> list[int]:
    """TypeError where these are not whole numbers."""
    try:
        return list(map(_whole, values))
    except TypeError as error:
        raise TypeError(f"{name} must be a list of whole numbers, got {short(values)}") from error


def _whole(value: SupportsIndex) -> int:
    if isinstance(value, bool):  # it would count as 0 or 1
        raise TypeError("not a number")
    return operator.index(value)


def check_length(max_new_tokens: int) -> None:
    """ValueError for anything but a whole number of at least 1, below 2**31."""
    if not (is_whole(max_new_tokens) and 1 <= max_new_tokens < LONGEST):
        raise ValueError(f"max_new_tokens must be a whole number of at least 1, below 2**31, got {max_new_tokens!r}")


def check_kind(name: str, value: object, kind: type) -> None:
    """TypeError for a value of another class."""
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be a {kind.__name__}, got {short(value)}")


def short(value: object) -> str:
    """A value as an error shows it."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."  # noqa: PLR2004 a line
