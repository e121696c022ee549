"""The last rounds, token by token. Accepted, bonus and rejected tokens differ by a mark, not by colour alone."""

from __future__ import annotations

from spsl_cli.events import Piece, RoundEvent, TokenKind
from spsl_cli.render.figures import UNKNOWN
from spsl_cli.render.gauges import MEDIUM
from spsl_cli.render.glyphs import Glyphs
from spsl_cli.render.line import Line, crop, width
from spsl_cli.render.sanitise import one_line

_LONGEST_WORD = 18


def legend(glyphs: Glyphs) -> Line:
    """What the marks before the tokens mean."""
    line = Line()
    for kind in (TokenKind.ACCEPTED, TokenKind.BONUS, TokenKind.REJECTED):
        line.add("  " if line.spans else "").add(f"{glyphs.marks[kind]} {kind.value}", kind.value)
    return line


def round_row(event: RoundEvent, cells: int, glyphs: Glyphs) -> Line:
    """A round's number, how many drafted tokens it kept, its tokens behind their marks; what does not fit: ellipsis."""
    line = Line()
    if cells >= MEDIUM:
        line.add(f"{event.stats.rounds:>5}  {_kept(event):>5} ", "dim")
    for at, piece in enumerate(event.pieces):
        chip = f"{glyphs.marks[piece.kind]}{token_text(piece, glyphs)}"
        gap = " " if line.spans else ""
        after = 0 if at == len(event.pieces) - 1 else 1 + width(glyphs.ellipsis)
        if line.width + len(gap) + width(chip) + after > cells:
            return line.add(f"{gap}{glyphs.ellipsis}", "dim")
        line.add(gap).add(chip, piece.kind.value)
    return line


def _kept(event: RoundEvent) -> str:
    """`3/4`: so many of the drafted tokens were accepted; told apart from the tokens because those may not all fit."""
    kinds = [piece.kind for piece in event.pieces]
    accepted = kinds.count(TokenKind.ACCEPTED)
    drafted = accepted + kinds.count(TokenKind.REJECTED)
    return f"{accepted}/{drafted}" if drafted else UNKNOWN


def token_text(piece: Piece, glyphs: Glyphs) -> str:
    """A token's text as one visible word: spaces around it dropped, blanks alone made visible."""
    word = one_line(piece.text)
    if not word:
        blanks = piece.text.replace("\r\n", "\n")
        word = "".join(glyphs.newline if blank == "\n" else glyphs.space for blank in blanks if blank.isspace())
    return crop(word, _LONGEST_WORD, glyphs.ellipsis)
