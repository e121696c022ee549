"""The sanitiser against hostile text: generated strings, every code point, and the attacks known by name."""

from __future__ import annotations

import random
import re
import unicodedata

import pytest

from spsl_cli.render.sanitise import clean, escape_unsafe, one_line, strip_controls

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
HIDDEN = re.compile(r"[\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u206f\ufeff]")
FRAGMENTS = [
    *("\x1b", "\x1b[", "\x1b]", "\x1bP", "\x1b_", "\x1b^", "\x1bX", "\x1b\\", "\x1b(", "\x9b", "\x9d", "\x90", "\x9c"),
    *("\x07", "\r", "\n", "\r\n", "\t", "\x0b", "\x0c", "\x85", "\x7f", "\x00", "\x08", "\u2028", "\u202e", "\u2066"),
    *("\u200f", "\ufeff", "\ud800", "\udfff", "\U000e0041", "31m", "52;c;AAAA", "0;title", "8;;http://x", "?1049h"),
    *("[bold]", "[/]", "abc", " ", "日本", "\u05e9\u05dc", "e\u0301", "\U0001f469\u200d\U0001f680", ";", "m", "~", "@"),
]


def generated(number: int, seed: int) -> list[str]:
    rng = random.Random(seed)
    texts = []
    for _ in range(number):
        parts = rng.choices(FRAGMENTS, k=rng.randint(1, 12))
        parts += [chr(rng.randrange(0x110000)) for _ in range(rng.randint(0, 4))]
        rng.shuffle(parts)
        texts.append("".join(parts))
    return texts


def test_generated_strings_come_out_harmless_and_stay_as_they_are() -> None:
    for text in generated(10_000, seed=20240607):
        safe = clean(text)
        assert not CONTROL.search(safe), ascii(text)
        assert not HIDDEN.search(safe), ascii(text)
        assert clean(safe) == safe, ascii(text)
        assert not CONTROL.search(strip_controls(text)), ascii(text)
        line = one_line(text)
        assert not CONTROL.search(line), ascii(text)
        assert "\n" not in line
        assert "\t" not in line
        assert one_line(line) == line, ascii(text)
        assert not re.search(r"[\n\t]", clean(text, keep_newlines=False))


def test_every_code_point_where_any_is_special() -> None:
    embedding = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
    for code in (*range(0x20000), *range(0xE0000, 0xE1000), 0x10FFFF):
        character = chr(code)
        safe = clean(character)
        category = unicodedata.category(character)
        if category == "Cc":
            assert safe in ("", "\n", "\t"), hex(code)
        elif category == "Cs":
            assert safe == "\ufffd", hex(code)
        elif unicodedata.bidirectional(character) in embedding:
            assert not safe, hex(code)
        elif category not in ("Cf", "Zl", "Zp"):
            assert safe == character, hex(code)


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("a\x1b[31mred\x1b[0m", "ared"),
        ("a\x1b[2J\x1b[Hb", "ab"),
        ("a\x1b]52;c;ZXZpbA==\x07b", "ab"),
        ("a\x1b]52;c;ZXZpbA==\x1b\\b", "ab"),
        ("a\x1b]0;title\x9cb", "ab"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("a\x1bPq#0;2;0\x1b\\b", "ab"),
        ("a\x1b_apc\x1b\\b\x1b^pm\x1b\\c\x1bXsos\x1b\\d", "abcd"),
        ("a\x9b31mb", "ab"),
        ("a\x9d0;t\x07b", "ab"),
        ("a\x1b(Bb\x1b=c\x1bcd", "abcd"),
        ("\x1b", ""),
        ("a\x1b[", "a"),
        ("a\x1b[31", "a"),
        ("bar 10 %\rbar 20 %", "bar 10 %\nbar 20 %"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("page\x0cpage", "page\npage"),
        ("a\u2028b\u2029c\x85d", "a\nb\nc\nd"),
        ("\ufeffa\u202egpj.exe\u202c", "agpj.exe"),
        ("a\ud83d\udc00b", "a\ufffd\ufffdb"),
        ("a\x08\x08b\x7f\x00", "ab"),
        ("hi\U000e0069\U000e0067\U000e007f", "hi"),
        ("\x1b\x1b[31m[31m", "[31m"),
        ("\x1bPtmux;\x1b\x1b]52;c;AA\x07\x1b\\x", "tmux;x"),
    ],
)
def test_known_attacks(text: str, safe: str) -> None:
    assert clean(text) == safe


def test_an_unterminated_sequence_hides_nothing_behind_it() -> None:
    assert clean("before\x1b]0;title\nall of the rest") == "before0;title\nall of the rest"
    assert clean("before\x1bPdata and text") == "beforedata and text"
    # A terminator on a later line does not swallow the lines between.
    assert clean("a\x1b]0;t\nkept\x07b") == "a0;t\nkeptb"


@pytest.mark.parametrize(
    "text",
    [
        "plain text, with\ttab\nand newline",
        "中文\uff0c日本語\u3001한국어",
        "\U0001f469\u200d\U0001f469\u200d\U0001f467 \u2764\ufe0f \U0001f1e9\U0001f1ea",
        "e\u0301a\u0308 \u0915\u094d\u0937",
        "\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        "soft\u00adhyphen non\u00a0breaking [bold]markup[/]",
    ],
)
def test_honest_text_stays_as_it_is(text: str) -> None:
    assert clean(text) == text
    assert strip_controls(text) == text


def test_files_keep_what_only_a_terminal_would_suffer_from() -> None:
    assert strip_controls("a\u200fb\u202ec\u2028d\ufeff") == "a\u200fb\u202ec\u2028d\ufeff"
    assert strip_controls("a\x1b[31mb\x9bc\x7f") == "ab"


def test_one_line_joins_lines_and_keeps_inner_spaces() -> None:
    assert one_line("  a  b \n\n\t c\r\nd  ") == "a  b c d"
    assert one_line("\x1b[31m\n") == ""


def test_json_escapes_keep_the_value() -> None:
    assert escape_unsafe('"a\x9b\u202e\U000e0041b"') == '"a\\u009b\\u202e\\udb40\\udc41b"'
    assert escape_unsafe('"\udc80"') == '"\ufffd"'
