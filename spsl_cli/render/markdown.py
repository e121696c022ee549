"""An answer's Markdown as a terminal shows it: Rich draws it, and nothing that was written gets lost.

Only marks that show as style go, line breaks and list numbers are kept, and an answer of which a character would be
missing is shown as it was written. No link acts, and no colour but those of the terminal's palette is used. Text comes
here cleaned; what of it is Markdown is for `markdown_parser` to say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import IO, ClassVar, TypeVar, cast

from markdown_it.token import Token
from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderResult
from rich.markdown import (
    CodeBlock,
    Heading,
    HorizontalRule,
    ListElement,
    ListItem,
    Markdown,
    MarkdownElement,
    Paragraph,
    TableElement,
)
from rich.measure import Measurement
from rich.padding import Padding
from rich.rule import Rule
from rich.segment import Segment, Segments
from rich.table import Table
from rich.text import Text
from rich.theme import Theme

from spsl_cli.render.markdown_parser import parse_markdown
from spsl_cli.render.streams import Stream

_THEME = Theme(
    {
        "markdown.code": "bold cyan",
        "markdown.code_block": "cyan",
        **{f"markdown.h{level}": "bold underline" if level <= 2 else "bold" for level in range(1, 7)},  # noqa: PLR2004
        "markdown.hr": "dim",
        "markdown.table.border": "dim",
        "markdown.table.header": "bold",
    }
)
_INDENT = 4  # of code, in cells
_UNBOUNDED = 1_000_000  # cells: a width at which nothing is broken

# What may go for the sake of style, or is drawn around text; everything else is counted before and after.
_MARKS = frozenset("*`#-_|:~•─━")


def write_markdown(stream: Stream, text: str) -> None:
    """Write `text` to `stream`, a terminal that allows escape codes, broken to its width; one newline at the end.

    Raises what `Stream.write` raises.
    """
    console = Console(
        file=cast("IO[str]", stream),
        force_terminal=True,
        force_jupyter=False,
        no_color=not stream.colour,
        width=stream.size()[0],
        theme=_THEME,
    )
    lines = _answer_lines(console, text, unicode=stream.unicode)
    if _letters(segment.text for line in lines for segment in line) != _letters([text]):
        lines = _lines(console, Text(text))
    segments = [segment for line in lines for segment in (*line, Segment.line())]
    console.print(Segments(segments or [Segment.line()]), end="", crop=False)


def _answer_lines(console: Console, text: str, *, unicode: bool) -> list[list[Segment]]:
    """Block by block, with an empty line between two of them where there is one in `text`."""
    lines: list[list[Segment]] = []
    block, gap = _Block(text, unicode=unicode), False
    for token in parse_markdown(text):
        block.parsed.append(token)
        if token.level == 0 and token.nesting <= 0:
            lines += [[]] if gap else []
            lines += _lines(console, block)
            gap = block.is_apart(block.parsed[0])
            block.parsed.clear()
    return lines


def _lines(console: Console, content: Markdown | Text) -> list[list[Segment]]:
    """What Rich makes of `content`, without the spaces that it fills lines with and the empty lines around it."""
    lines = []
    for line in console.render_lines(content, pad=False):
        while line and not line[-1].text.strip():
            line.pop()
        lines.append([*line[:-1], line[-1]._replace(text=line[-1].text.rstrip())] if line else [])
    full = [number for number, line in enumerate(lines) if line]
    return lines[full[0] : full[-1] + 1] if full else []


def _letters(texts: Iterable[str]) -> Counter[str]:
    """How often each character stands in `texts`, marks and white space aside."""
    return Counter(sign for text in texts for sign in text if sign not in _MARKS and not sign.isspace())


# ---- how it is drawn ------------------------------------------------------------------------------------------------


_E = TypeVar("_E", bound=MarkdownElement)


def _spaced(element: _E, markdown: Markdown, token: Token) -> _E:
    """`element` with an empty line behind it where one stands in the answer."""
    element.new_line = cast("_Block", markdown).is_apart(token)  # type: ignore[misc]  # of the class only, elsewhere
    return element


class _Paragraph(Paragraph):
    @classmethod
    def create(cls, markdown: Markdown, token: Token) -> Paragraph:
        return _spaced(cls("default"), markdown, token)


class _Heading(Heading):
    LEVEL_ALIGN: ClassVar[dict[str, JustifyMethod]] = {f"h{level}": "default" for level in range(1, 7)}

    @classmethod
    def create(cls, markdown: Markdown, token: Token) -> Heading:
        return _spaced(cls(token.tag), markdown, token)


class _Code(CodeBlock):
    """Code as it is written, indented; the language stands above it. Indented prose is code to Markdown: no colour."""

    @classmethod
    def create(cls, markdown: Markdown, token: Token) -> CodeBlock:
        code = cls(token.info.strip(), "")
        code.style_name = "markdown.code_block" if token.type == "fence" else "none"
        return _spaced(code, markdown, token)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self.lexer_name:
            yield Text(self.lexer_name, "dim")
        self.text.justify = "default"
        if self.text.plain.endswith("\n"):
            self.text.right_crop(1)
        yield Padding(self.text, (0, 0, 0, min(_INDENT, options.max_width // 4)), expand=False)


class _Rule(HorizontalRule):
    sign: str

    @classmethod
    def create(cls, markdown: Markdown, token: Token) -> HorizontalRule:
        rule = _spaced(cls(), markdown, token)
        rule.sign = "─" if cast("_Block", markdown).unicode else "-"
        return rule

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Rule(characters=self.sign, style="markdown.hr")


class _Item(ListItem):
    marker: str

    @classmethod
    def create(cls, markdown: Markdown, token: Token) -> MarkdownElement:
        item = _spaced(cls(), markdown, token)
        star = "•" if cast("_Block", markdown).unicode else "*"
        item.marker = f"{token.info}{star if token.markup == '*' else token.markup} "
        return item

    def lines(self, console: Console, options: ConsoleOptions) -> Iterator[list[Segment]]:
        """Its lines, without the marker."""
        gap = False
        for element in cast("Iterable[MarkdownElement]", self.elements):
            if gap:
                yield []
            yield from console.render_lines(element, options, style=self.style, pad=False)
            gap = element.new_line


class _List(ListElement):
    """Items behind their own markers: a number is what was written, `2016.` too."""

    @classmethod
    def create(cls, markdown: Markdown, token: Token) -> ListElement:
        return _spaced(cls(token.type, None), markdown, token)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        items = cast("list[_Item]", self.items)
        margin = max(cell_len(item.marker) for item in items)
        inner = options.update(width=max(1, options.max_width - margin))
        gap = False
        for item in items:
            if gap:
                yield Segment.line()
            marker = item.marker.ljust(margin)
            for line in [*item.lines(console, inner)] or [[]]:
                yield from (Segment(marker), *line, Segment.line())
                marker = " " * margin
            gap = item.new_line


class _Table(TableElement):
    """A table, or where the terminal is too narrow for its words, its rows as lines."""

    box: box.Box

    @classmethod
    def create(cls, markdown: Markdown, token: Token) -> MarkdownElement:
        table = _spaced(cls(), markdown, token)
        table.box = box.SIMPLE_HEAD if cast("_Block", markdown).unicode else box.ASCII2
        return table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        parts = [self.header.row] if self.header and self.header.row else []
        head, *rows = [[cell.content for cell in row.cells] for row in (*parts, *(self.body.rows if self.body else ()))]
        table = Table(box=self.box, pad_edge=False, show_edge=False, border_style="markdown.table.border")
        for cell in head:
            table.add_column(cell, header_style="markdown.table.header", justify=cell.justify, overflow="fold")
        for row in rows:
            table.add_row(*row)
        if Measurement.get(console, options.update(max_width=_UNBOUNDED), table).minimum <= options.max_width:
            yield table
            return
        for row in (head, *rows):
            yield Text(" | ").join(row)


class _Block(Markdown):
    """One block of an answer, the whole of which it knows: its tokens are to be put into `parsed`."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "paragraph_open": _Paragraph,
        "heading_open": _Heading,
        "fence": _Code,
        "code_block": _Code,
        "hr": _Rule,
        "bullet_list_open": _List,
        "ordered_list_open": _List,
        "list_item_open": _Item,
        "table_open": _Table,
    }

    def __init__(self, text: str, *, unicode: bool) -> None:
        super().__init__("", hyperlinks=False)
        self.parsed = []
        self.unicode = unicode
        self._empty = [not line.strip() for line in text.split("\n")]

    def is_apart(self, token: Token) -> bool:
        """Whether an empty line follows the block that `token` opens; a list counts the one behind it as its own."""
        end = token.map[1] if token.map else 0
        return any(self._empty[max(0, end - 1) : end + 1])
