"""What of an answer is taken for Markdown: less than CommonMark has, so that plain prose stays plain prose.

Headings, lists, code, rules, tables, and emphasis with `*`. Everything else is text: links, images, HTML, escapes,
entities, references, quotes, underlined headings, `_`. This file does not know how anything is drawn.
"""

from __future__ import annotations

from unicodedata import east_asian_width

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline.state_inline import Delimiter
from markdown_it.token import Token

_RULES = ("fence", "code", "heading", "hr", "list", "table", "backticks", "emphasis")

# What may stand before an opening and behind a closing mark of emphasis, besides white space.
_OPENING = frozenset("*([{<\"'“‘«„¿¡/—–-|:")  # noqa: RUF001 - signs that look alike are meant
_CLOSING = frozenset("*)]}>\"'”’»“/—–-|:.,;!?…")  # noqa: RUF001


def parse_markdown(text: str) -> list[Token]:
    """The tokens of `text`, as markdown-it has them; every line break in a paragraph is a `hardbreak`."""
    parser = MarkdownIt("zero").enable(_RULES)
    parser.core.ruler.at("inline", _by_line)
    parser.block.ruler.before("paragraph", "outside", _outside, {"alt": ["paragraph"]})
    parser.inline.ruler.at("emphasis", _stars)
    return parser.parse(text)


def _outside(state: StateBlock, line: int, _end: int, silent: bool) -> bool:
    """A line that is not indented like the text of a list item does not go on with it."""
    return silent and state.sCount[line] < state.blkIndent


def _by_line(state: StateCore) -> None:
    """Emphasis and code end on the line they begin on, line breaks stay, and a heading of nothing is no heading."""
    for opening, token, closing in zip(state.tokens, state.tokens[1:], state.tokens[2:], strict=False):
        if token.type != "inline":
            continue
        if opening.type == "heading_open" and not token.content:
            token.content = opening.markup
            opening.type, closing.type = "paragraph_open", "paragraph_close"
        token.children = []
        for number, line in enumerate(token.content.split("\n")):
            parsed: list[Token] = []
            state.md.inline.parse(line, state.md, state.env, parsed)
            token.children += [*([Token("hardbreak", "br", 0)] if number else []), *parsed]


def _stars(state: StateInline, silent: bool) -> bool:
    """`*` around words is emphasis; in `2*3*4`, `f(a)*b*(c)` and `**kwargs` it is a character, and `_` always is."""
    if silent or state.src[state.pos] != "*":
        return False
    length = state.scanDelims(state.pos, canSplitWord=True).length
    before = state.src[state.pos - 1] if state.pos else " "
    behind = state.src[state.pos + length : state.pos + length + 1] or " "
    for _ in range(length):
        token = state.push("text", "", 0)
        token.content = "*"
        delimiter = Delimiter(
            marker=ord("*"),
            length=length,
            token=len(state.tokens) - 1,
            end=-1,
            open=not behind.isspace() and _apart(before, _OPENING),
            close=not before.isspace() and _apart(behind, _CLOSING),
        )
        state.delimiters.append(delimiter)
    state.pos += length
    return True


def _apart(neighbour: str, punctuation: frozenset[str]) -> bool:
    """Whether a mark next to `neighbour` is outside of a word; in scripts without spaces (wide ones) it always is."""
    return neighbour.isspace() or neighbour in punctuation or east_asian_width(neighbour) in "WF"
