"""Style sheets, entities and escape sequences from hostile hands: what they cost, and what they must not do."""

from __future__ import annotations

import random

import pytest

from spsl_cli.documents.html import plain, seen
from spsl_cli.documents.invisible import visible
from spsl_cli.documents.limits import Limits
from spsl_cli.documents.markup.css import Sheet, declarations
from spsl_cli.documents.source import UnreadableError

LIMITS = Limits()

SHEETS = {
    "open blocks": "@media x{" * 100_000,
    "empty rules": "@a{}" * 200_000,
    "open comments": "/*" * 300_000,
    "one class": ".a{display:none}" * 60_000,
    "long selectors": ".a" * 200_000 + "{display:none}",
    "many selectors": ".a," * 200_000 + "b{display:none}",
    "combinators": "a > " * 200_000 + "b{display:none}",
    "attributes": "[" * 300_000 + "{display:none}",
    "parts": "a:not(" * 100_000 + "{display:none}",
    "escapes": "p{" + "\\64 " * 100_000 + ":none}",
    "values": "p{" + "color:red;" * 100_000 + "}",
    "braces": "}" * 300_000 + "{" * 300_000,
}


@pytest.mark.parametrize("name", SHEETS)
def test_sheets_that_are_slow_for_careless_readers(name: str) -> None:
    text = plain(f"<style>{SHEETS[name]}</style><p>kept</p>" + "<p class='b c'>x</p>" * 100, limits=LIMITS)
    assert text.startswith("kept")


def test_many_elements_under_many_rules() -> None:
    rules = "".join(f".c{number}{{display:none}} p.c{number}.d{{display:block}}" for number in range(5_000))
    names = " ".join(f"c{number}" for number in range(3_000))
    elements = "".join(f'<p class="e{number} {names if number < 20 else ""}">x' for number in range(20_000))
    text, _, unseen = seen(f"<style>{rules}</style>{elements}", limits=LIMITS)
    assert text.count("x") == 19_980
    assert unseen.warnings() == ("hidden text left out (marked as hidden): 20 words",)


def test_mutated_sheets_and_styles_never_fail() -> None:
    random.seed(11)
    signs = [
        "{",
        "}",
        ";",
        ":",
        "#",
        ".",
        "@",
        "\\",
        "/*",
        "*/",
        "(",
        ")",
        "1e999px",
        "-",
        "rgb(9,9,9",
        "%",
        "\x00",
        "é",
    ]
    for _ in range(1_500):
        sheet = list("p.a,#b{font:0/0 x;color:#fff;background:rgb(1,2,3);left:-9em;opacity:.5}@media x{a{}}")
        for _ in range(random.randint(1, 8)):
            sheet[random.randrange(len(sheet))] = random.choice(signs)
        css = "".join(sheet)
        style = css.replace('"', "").partition("{")[2]
        assert plain(f'<style>{css}</style><p class=a id=b>x<i style="{style}">y</i></p>end', limits=LIMITS).endswith(
            "end"
        )


def test_declarations_and_rules() -> None:
    assert declarations("A: B !important; a:c; broken; :x; url(data:x;y)") == {"": "x", "a": "b", "url(data": "x"}
    sheet = Sheet(frozenset({"color"}))
    sheet.add("p{color:red}#i{color:blue}.c{color:green}p.c,x{margin:0}a p{color:black}")
    assert sheet.style("p", {"class": "c", "id": "i"}).values == {"color": "blue"}
    assert sheet.style("p", {}).might == {"color": ["black"]}


def test_entities_do_not_multiply() -> None:
    names = "".join(f"<!ENTITY e{n} '{f'&e{n - 1};' * 10 if n else 'ha' * 10}'>" for n in range(10))
    assert "ha" not in plain(f"<!DOCTYPE html [{names}]><html>&e9;</html>", limits=LIMITS)
    large = f"<!DOCTYPE html [<!ENTITY a '{'x' * 9_000}'>]><html>{'&a;' * 2_000}</html>"
    with pytest.raises(UnreadableError, match="entities unfold to more than"):
        plain(large, limits=LIMITS)


@pytest.mark.parametrize("unit", ["\x1b]", "\x1b[31m", "\x1b]a", "\x1b", "\x9b", "\U000e0041", "\x1b[" + "1;" * 20])
def test_sequences_without_end(unit: str) -> None:
    text, _ = visible(unit * 200_000 + "end")
    assert text.endswith("nd")
    assert "\x1b" not in text
