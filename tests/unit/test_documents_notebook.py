"""Jupyter notebooks: which cells and outputs are text, how they are marked, and what is left out by name."""

from __future__ import annotations

import base64
import json

import pytest

from spsl_cli.documents import notebook
from spsl_cli.documents.source import Extract, Source, UnreadableError

PICTURE = base64.b64encode(bytes(range(256)) * 40).decode()


def code(source, *outputs, **fields):
    return {"cell_type": "code", "source": source, "metadata": {}, "outputs": list(outputs), **fields}


def stream(text, name="stdout"):
    return {"output_type": "stream", "name": name, "text": text}


def result(kind="execute_result", **data):
    return {
        "output_type": kind,
        "metadata": {},
        "data": {name.replace("__", "/"): value for name, value in data.items()},
    }


def book(*cells, language="python", **fields):
    return {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {"language_info": {"name": language}},
        "cells": [*cells],
    } | fields


def read(content, name="file.ipynb") -> Extract:
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    return notebook.read(Source(name, data))


def text(*cells, **fields) -> str:
    extract = read(book(*cells, **fields))
    assert extract.warnings == ()
    return extract.pages[0].text


def test_cells_in_order_code_fenced_and_output_marked():
    markdown = {"cell_type": "markdown", "source": ["# Tides\n", "High at *noon*."], "metadata": {}}
    raw = {"cell_type": "raw", "source": "A raw note.", "metadata": {}}
    extract = read(book(markdown, code(["x = 6\n", "x * 7"], result(text__plain=["42"])), raw))
    assert extract.pages[0].text == (
        "# Tides\nHigh at *noon*.\n\n```python\nx = 6\nx * 7\n```\n\nOutput:\n```\n42\n```\n\nA raw note.\n"
    )
    assert (extract.media_type, len(extract.pages), extract.pages[0].number) == ("application/x-ipynb+json", 1, 1)
    assert extract.warnings == ()


@pytest.mark.parametrize(
    ("metadata", "fence"),
    [
        ({"language_info": {"name": "R"}}, "```R\n"),
        ({"kernelspec": {"language": "julia"}}, "```julia\n"),
        ({"language_info": {"name": "```\nIgnore"}}, "```\n"),
        ({}, "```\n"),
        ([], "```\n"),
    ],
)
def test_language_of_the_fence(metadata, fence):
    assert text(code("f(x)"), metadata=metadata) == f"{fence}f(x)\n```\n"


def test_a_fence_is_longer_than_any_within():
    assert text(code("s = '''\n````\n'''", stream("```"))) == (
        "`````python\ns = '''\n````\n'''\n`````\n\nOutput:\n````\n```\n````\n"
    )


def test_streams_join_without_a_gap_and_errors_stand_apart():
    outputs = [stream("one, "), stream("two"), result(text__plain="3"), stream("careful\n", "stderr"), stream("four")]
    assert text(code("", *outputs)) == (
        "Output:\n```\none, two\n3\n```\n\nOutput (stderr):\n```\ncareful\n```\n\nOutput:\n```\nfour\n```\n"
    )


def test_traceback_without_colours():
    error = {
        "output_type": "error",
        "ename": "ZeroDivisionError",
        "evalue": "division by zero",
        "traceback": [
            "\x1b[0;31m---------\x1b[0m",
            "\x1b[0;31mZeroDivisionError\x1b[0m: \x1b]8;;http://x.example\x1b\\division\x1b]8;;\x1b\\ by zero",
        ],
    }
    assert text(code("1/0", error)).endswith("Error:\n```\n---------\nZeroDivisionError: division by zero\n```\n")
    error["traceback"] = []
    assert text(code("1/0", error)).endswith("Error:\n```\nZeroDivisionError: division by zero\n```\n")


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        (" 10%|#   |\r 50%|##  |\r100%|####|\ndone", "100%|####|\ndone"),
        ("Downloading 99\rOK", "OKwnloading 99"),
        ("Downloading 99\r\x1b[KOK", "OK"),
        ("a long line\r\x1b[2K\x1b[32mshort\x1b[0m\r\nnext", "short\nnext"),
        ("dos\r\nlines\r\n", "dos\nlines"),
    ],
)
def test_lines_written_over_show_what_remained(printed, shown):
    assert text(code("", stream(printed))) == f"Output:\n```\n{shown}\n```\n"


def test_pictures_and_widgets_are_named_not_shown():
    picture = result("display_data", image__png=PICTURE, text__plain="<Figure size 640x480>")
    widget = result(
        **{"application/vnd.jupyter.widget-view+json": {"model_id": "a1"}, "text/plain": "IntSlider(value=3)"}
    )
    shown = text(code("plot()", picture, widget))
    assert "<Figure size 640x480>\n[left out: image/png]" in shown
    assert "IntSlider(value=3)\n[left out: application/vnd.jupyter.widget-view+json]" in shown
    assert PICTURE[:20] not in shown
    assert "a1" not in shown


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        ({"text__plain": "   a\n0  1", "text__html": "<table><tr><td>1</td></tr></table>"}, "   a\n0  1"),
        ({"text__html": "<p>Only <b>markup</b> &amp; no text</p><script>x=1</script>"}, "Only markup & no text"),
        ({"text__plain": "<IPython.core.display.HTML object>", "text__html": "<p>Behind</p>"}, "Behind"),
        ({"text__plain": "<pandas.io.formats.style.Styler at 0x7f00>", "text__html": "<i>Styled</i>"}, "Styled"),
        (
            {"text__plain": "<IPython.core.display.Markdown object>", "text__markdown": ["**bold**\n", "x"]},
            "**bold**\nx",
        ),
        ({"text__plain": "<IPython.core.display.Latex object>", "text__latex": "$x^2$"}, "$x^2$"),
        ({"text__plain": "<app.Thing object>"}, "<app.Thing object>"),
    ],
)
def test_the_form_that_says_most_in_words(data, shown):
    assert text(code("", result(**data))) == f"Output:\n```\n{shown}\n```\n"


def test_pictures_within_markdown():
    inline = {"cell_type": "markdown", "source": f"![plan](data:image/png;base64,{PICTURE}) Below."}
    attached = {
        "cell_type": "markdown",
        "source": "![map](attachment:map.png)",
        "attachments": {"map.png": {"image/png": PICTURE}, "spare.png": {"image/png": PICTURE}},
    }
    assert text(inline, attached) == (
        "![plan](data:image/png;base64,[left out]) Below.\n\n![map](attachment:map.png)\n\n"
        "[attachment left out: spare.png]\n"
    )


def test_format_3():
    cells = [
        {"cell_type": "heading", "level": 2, "source": ["Depths"]},
        {
            "cell_type": "code",
            "language": "python",
            "input": ["d = 9\n", "d"],
            "outputs": [
                {"output_type": "pyout", "text": ["9"], "prompt_number": 1},
                {"output_type": "stream", "stream": "stderr", "text": ["hm\n"]},
                {"output_type": "display_data", "png": PICTURE, "text": ["<matplotlib.figure.Figure at 0x7f>"]},
                {"output_type": "pyerr", "ename": "E", "evalue": "v", "traceback": ["\x1b[31mE\x1b[0m: v"]},
            ],
        },
    ]
    extract = read({"nbformat": 3, "metadata": {}, "worksheets": [{"cells": cells[:1]}, {"cells": cells[1:]}]})
    assert extract.pages[0].text == (
        "## Depths\n\n```python\nd = 9\nd\n```\n\nOutput:\n```\n9\n```\n\nOutput (stderr):\n```\nhm\n```\n\n"
        "Output:\n```\n<matplotlib.figure.Figure at 0x7f>\n[left out: image/png]\n```\n\nError:\n```\nE: v\n```\n"
    )
    assert extract.warnings == ()


def test_a_format_to_come_is_told():
    assert read(book(code("1"), nbformat=5)).warnings == ("notebook format 5 is not known: read as format 4",)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'{"cells": [\n {"cell_type": "code", ', "a damaged notebook: its JSON breaks at line 2, column 24"),
        (b"<<<<<<< HEAD\n{}", "a damaged notebook: its JSON breaks at line 1, column 1"),
        (b"[1, 2]", "JSON, but not a notebook: it has no cells"),
        (b'{"a": 1}', "JSON, but not a notebook: it has no cells"),
        (b'{"cells": {}, "nbformat": 4}', "JSON, but not a notebook: it has no cells"),
        (b'{"cells": [], "nbformat": 4}', "a notebook without text"),
        (b'{"cells": [{"cell_type": "code", "source": [], "outputs": []}], "nbformat": 4}', "a notebook without text"),
        (b" \n", "no text"),
    ],
)
def test_what_is_no_notebook_says_why(data, reason):
    with pytest.raises(UnreadableError, match=f"^{reason}"):
        read(data)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.ipynb", b"anything", True),
        ("A.IPYNB", b"{}", True),
        ("a.json", json.dumps(book(code("1"))).encode(), True),
        ("stdin", b"\xef\xbb\xbf \n" + json.dumps(book(code("1"))).encode(), True),
        ("a.json", json.dumps({"text": json.dumps(book(code("1")))}).encode(), False),
        ("a.json", json.dumps({"sample": book(code("1"))}).encode(), False),
        ("a.json", json.dumps({"cells": [1]}).encode(), False),
        ("a.py", b'{"nbformat": 4, "cells": [', False),
        ("a.txt", b'The key "nbformat" says which format the "cells" have.', False),
    ],
)
def test_known_by_content_first_and_name_second(name, content, expected):
    assert notebook.matches(Source(name, content)) is expected


def test_byte_order_mark_and_letters_beyond_ascii():
    content = json.dumps(book(code("größe = '漢🌊'")), ensure_ascii=False).encode("utf-8-sig")
    extract = read(content)
    assert (extract.encoding, extract.pages[0].text) == ("utf-8", "```python\ngröße = '漢🌊'\n```\n")
