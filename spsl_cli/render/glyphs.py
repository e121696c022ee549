"""The signs the panel is drawn with: one set for Unicode, one for encodings without it. Kinds differ without colour."""

from __future__ import annotations

from dataclasses import dataclass

from spsl_cli.events import TokenKind


@dataclass(frozen=True, slots=True)
class Glyphs:
    """Every sign is one cell wide, except the ellipsis of ASCII."""

    rule: str
    full: str
    rest: str
    done: str
    stopped: str
    active: str
    separator: str
    ellipsis: str
    newline: str
    space: str
    opening: str
    closing: str
    marks: dict[TokenKind, str]


UNICODE = Glyphs(
    rule="\u2500",
    full="\u2501",
    rest="\u2500",
    done="\u2713",
    stopped="\u2717",
    active="\u25b8",
    separator=" \u00b7 ",
    ellipsis="\u2026",
    newline="\u21b5",
    space="\u2423",
    opening="\u201c",
    closing="\u201d",
    marks={
        TokenKind.ACCEPTED: "\u2713",
        TokenKind.BONUS: "\u25c6",
        TokenKind.REJECTED: "\u2717",
        TokenKind.PLAIN: "\u00b7",
    },
)

ASCII = Glyphs(
    rule="-",
    full="#",
    rest="-",
    done="*",
    stopped="!",
    active=">",
    separator=" | ",
    ellipsis="...",
    newline="\\n",
    space="_",
    opening='"',
    closing='"',
    marks={
        TokenKind.ACCEPTED: "+",
        TokenKind.BONUS: "*",
        TokenKind.REJECTED: "!",
        TokenKind.PLAIN: ".",
    },
)


def glyphs_for(*, unicode: bool) -> Glyphs:
    """The set that the stream can write."""
    return UNICODE if unicode else ASCII
