"""Nothing is cut silently: what does not fit is an error that says how much, or a smaller number that is returned."""

from __future__ import annotations

import pytest

from spsl_cli.errors import ExitCode, PromptTooLongError
from spsl_cli.prompting.budget import LEAST_ROOM, check_fits


@pytest.mark.parametrize(
    ("prompt", "new", "context", "explicit", "expected"),
    [
        (100, 28, 128, True, 28),
        (100, 28, 128, False, 28),
        (100, 29, 128, False, 28),
        (112, 256, 128, False, LEAST_ROOM),
        (127, 1, 128, True, 1),
        (124, 4, 128, False, 4),
    ],
)
def test_what_fits(prompt: int, new: int, context: int, explicit: bool, expected: int) -> None:
    assert check_fits(prompt, new, context, explicit=explicit) == expected


@pytest.mark.parametrize(
    ("prompt", "new", "context", "explicit", "excess"),
    [
        (100, 29, 128, True, 1),
        (113, 256, 128, False, 241),
        (128, 1, 128, False, 1),
        (9_000, 256, 8_192, True, 1_064),
        (9_000, 256, 8_192, False, 1_064),
    ],
)
def test_what_does_not_fit_says_by_how_much(prompt: int, new: int, context: int, explicit: bool, excess: int) -> None:
    with pytest.raises(PromptTooLongError) as caught:
        check_fits(prompt, new, context, explicit=explicit)
    message = str(caught.value)
    assert caught.value.excess == excess == prompt + new - context
    assert caught.value.exit_code == ExitCode.TOO_LONG
    for number in (prompt, new, context, excess):
        assert f"{number:,}" in message
    for choice in ("fewer or shorter documents", "a model with a longer context"):
        assert choice in message
    assert ("--max-new-tokens" in message) == (prompt < context)
    assert "\n" not in message


def test_the_number_it_names_does_fit() -> None:
    with pytest.raises(PromptTooLongError, match=r"--max-new-tokens 28 or less"):
        check_fits(100, 500, 128, explicit=True)
    assert check_fits(100, 28, 128, explicit=True) == 28
