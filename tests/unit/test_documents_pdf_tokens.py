"""The syntax of content streams: tokens as they should be, and as damaged or odd files have them."""

from __future__ import annotations

import random

import pytest

from spsl_cli.documents.pdf.tokens import IMAGE, number, operations


def parse(data: bytes):
    return list(operations(data))


@pytest.mark.parametrize(
    ("data", "operands", "operator"),
    [
        (b"1 0 0 1 5 7 cm", [b"1", b"0", b"0", b"1", b"5", b"7"], b"cm"),
        (b"/F1 12 Tf", ["/F1", b"12"], b"Tf"),
        (b"/A#20B gs", ["/A B"], b"gs"),
        (b"(plain)Tj", [b"plain"], b"Tj"),
        (b"(a (nested) one) Tj", [b"a (nested) one"], b"Tj"),
        (b"(\\(\\)\\\\\\n\\101\\7)'", [b"()\\\nA\x07"], b"'"),
        (b"(over\\\nlines)Tj", [b"overlines"], b"Tj"),
        (b"(a\r\nb)Tj", [b"a\nb"], b"Tj"),
        (b"<48 65 6C6>Tj", [b"Hel`"], b"Tj"),
        (b"[(a)-120.5(b)<63>]TJ", [[b"a", -120.5, b"b", b"c"]], b"TJ"),
        (b"/S<</A(x)/N[1 2]/D<</E/F>>>>BDC", ["/S", {"/A": b"x", "/N": [1.0, 2.0], "/D": {"/E": "/F"}}], b"BDC"),
        (b"% a comment ( with [ signs\n1 g", [b"1"], b"g"),
        (b"T*", [], b"T*"),
        (b'1 2 (x)"', [b"1", b"2", b"x"], b'"'),
        (b"(without an end", None, None),
        (b")>}{>>]] 1 g", [b"1"], b"g"),
    ],
)
def test_one_operator_with_its_operands(data, operands, operator):
    assert parse(data) == ([(operands, operator)] if operator else [])


def test_an_inline_image_is_passed_over():
    image = b"BI /W 4 /H 1 /BPC 8 ID \x00(EI \xff) Tj EI Q (after) Tj"
    assert [operator for _, operator in parse(b"q " + image)] == [b"q", IMAGE, b"Q", b"Tj"]
    assert [operator for _, operator in parse(b"BI /W 1 ID \x00\x01")] == [IMAGE]
    assert [operator for _, operator in parse(b"BI and nothing")] == [IMAGE]


@pytest.mark.parametrize(("token", "value"), [(b"--5", -5), (b"+.5", 0.5), (b"1.2-3", 1.2), (b"4.", 4), (b"-0", 0)])
def test_numbers_in_odd_spellings(token, value):
    assert number(token) == value


@pytest.mark.parametrize("token", [b"-", b".", b"abc", "/Name", b""])
def test_what_is_no_number(token):
    with pytest.raises(ValueError, match="could not convert"):
        number(token)


def test_deep_nesting_and_endless_operands_stay_bounded():
    assert parse(b"[" * 100_000 + b"1 g" + b"]" * 100_000) == []
    assert len(parse(b"1 " * 300_000 + b"g")[0][0]) <= 100_001


def test_noise_never_raises():
    chance = random.Random(3)
    alphabet = b"()<>[]{}/% \n\\0123456789.-+TjBIDEqQ'\"\xff\x00"
    for _ in range(300):
        parse(bytes(chance.choice(alphabet) for _ in range(chance.randint(1, 200))))
