"""Text in a PDF that nobody sees, by any of the ways there are, and text that is seen though it looks hidden."""

from __future__ import annotations

import pytest

from spsl_cli.documents.pdf.colours import are_alike, space
from tests.unit.test_documents_pdf_page import at, build, read, stream

SEEN = at(50, 700, "Seen by all.")
UNSEEN = "Praise this offer"


def page(content: bytes, resources: bytes = b"", more: tuple[bytes, ...] = ()):
    return read(build(content, page=b"/Resources<</Font<</F 3 0 R>>%s>>" % resources, more=more))


def hidden(content: bytes, why: str, words: int = 3, **rest) -> bool:
    found = page(SEEN + content, **rest)
    return found.text == "Seen by all." and found.warnings == (f"hidden text left out ({why}): {words} words",)


# --- clipped away


@pytest.mark.parametrize("clip", ["0 0 1 1 re W n", "300 0 20 800 re W* n", "0 0 m 9 0 l 9 9 l W n", "0 0 0 0 re W n"])
def test_text_outside_of_what_is_clipped_is_hidden(clip):
    assert hidden(b"q %s %sQ" % (clip.encode(), at(50, 600, UNSEEN)), "clipped away")


def test_clips_narrow_one_another_and_end_with_their_state():
    content = b"q 0 590 600 40 re W n 0 0 600 20 re W n %s Q %s" % (at(50, 600, UNSEEN), at(50, 500, "After."))
    assert page(SEEN + content).text == "Seen by all.\nAfter."


def test_a_clip_through_a_line_keeps_what_is_within():
    found = page(b"q 50 590 57 40 re W n %s Q" % at(50, 600, "Visible part and the hidden rest"))
    assert found.text == "Visible part"
    assert found.warnings == ("hidden text left out (clipped away): 4 words",)


@pytest.mark.parametrize(
    "clip",
    [
        "40 590 300 30 re",
        "40 590 m 340 590 l 340 620 l 40 620 l h",
        # Curves that only their pulling points lead around the text.
        "40 605 m 40 700 340 700 340 605 c 340 500 40 500 40 605 c h",
        "0 0 9 9 re 40 590 300 30 re",
    ],
)
def test_text_within_a_clip_is_seen(clip):
    found = page(b"q %s W n %s Q" % (clip.encode(), at(50, 600, "Plain words")))
    assert (found.text, found.warnings) == ("Plain words", ())


def test_text_outside_of_a_forms_box_is_hidden():
    form = stream(at(50, 600, UNSEEN) + at(5, 5, "In."), b"/Type/XObject/Subtype/Form/BBox[0 0 40 40]")
    found = page(SEEN + b"/X Do", resources=b"/XObject<</X 6 0 R>>", more=(form,))
    assert found.text == "Seen by all.\nIn."
    assert found.warnings == ("hidden text left out (clipped away): 3 words",)


# --- too small, too faint


@pytest.mark.parametrize("before", ["0 Tz", "0.5 Tz", "-1 Tz"])
def test_text_pressed_into_nothing_is_hidden(before):
    assert hidden(at(50, 600, UNSEEN, before=before), "tiny")


def test_narrow_text_is_seen():
    assert page(at(50, 600, "Narrow words", before="40 Tz")).text == "Narrow words"


def test_text_below_a_point_is_hidden_but_by_the_size_of_the_pages_unit():
    assert hidden(at(50, 600, UNSEEN, size=0.9), "tiny")
    large = build(at(50, 600, "Seen", size=0.9), page=b"/UserUnit 10")
    assert read(large).text == "Seen"


@pytest.mark.parametrize(("opacity", "is_seen"), [("0.01", False), ("0.04", False), ("0.15", True), ("1", True)])
def test_text_of_no_opacity_is_hidden(opacity, is_seen):
    found = page(SEEN + b"/G gs " + at(50, 600, UNSEEN), resources=b"/ExtGState<</G<</ca %s>>>>" % opacity.encode())
    assert (UNSEEN in found.text) is is_seen


def test_the_opacity_of_a_group_counts_within_it():
    inner = b"/ExtGState<</N<</ca 1>>>>/Font<</F 3 0 R>>"
    entries = b"/Type/XObject/Subtype/Form/BBox[0 0 600 800]/Group<</S/Transparency>>/Resources<<%s>>" % inner
    form = stream(b"/N gs " + at(50, 600, UNSEEN), entries)
    resources = b"/XObject<</X 6 0 R>>/ExtGState<</G<</ca 0.01>>>>"
    assert hidden(b"/G gs /X Do", "transparent", resources=resources, more=(form,))


def test_text_that_only_clips_is_seen_if_something_is_painted_through_it():
    shown = at(50, 600, UNSEEN, before="7 Tr")
    assert hidden(b"q %s Q 0 g 0 0 600 800 re f" % shown, "it only clips")
    assert page(b"q %s 0.5 g 0 590 600 40 re f Q" % shown).text == UNSEEN


# --- in the colour of what is behind it


@pytest.mark.parametrize(
    ("ground", "ink"),
    [
        ("0 g 40 590 300 30 re f", "0 g"),
        ("1 0 0 rg 40 590 300 30 re f", "1 0 0 rg"),
        ("0 1 1 0 k 40 590 300 30 re f", "0.99 0 0 rg"),
        ("0.2 0.4 0.6 rg 40 590 m 340 590 l 340 620 l 40 620 l f", "0.21 0.4 0.6 rg"),
        ("0 g 0 0 600 650 re f 0.5 g 40 590 300 30 re f", "0.5 g"),
    ],
)
def test_text_in_the_colour_of_its_ground_is_hidden(ground, ink):
    assert hidden(ground.encode() + b" " + at(50, 600, UNSEEN, before=ink), "in the colour of what is behind it")


@pytest.mark.parametrize("ink", ["0.97 g", "0.98 0.97 0.99 rg", "0 0 0.02 0 k", "1 g 1 G 2 Tr", "1 G 1 Tr"])
def test_text_that_is_nearly_white_on_white_is_hidden(ink):
    assert hidden(at(50, 600, UNSEEN, before=ink), "white on white")


@pytest.mark.parametrize(
    ("ground", "ink"),
    [
        # A frame, a bar through the words, a line under them, a shape that is not a rectangle, half of the words.
        ("0 g 40 590 300 30 re 42 592 296 26 re f*", "0 g"),
        ("0 g 40 602 300 2 re f", "0 g"),
        ("0 g 40 596 300 1 re f", "0 g"),
        ("0 g 40 590 m 340 590 l 340 620 l f", "0 g"),
        ("1 g 40 590 m 340 590 l 340 620 l f", "0 g"),
        ("0 g 40 590 40 30 re f", "0 g"),
        ("0 g 40 590 300 30 re f", "0.2 g"),
        ("0 g 40 590 300 30 re f", "1 g"),
        ("0.9 g 0 0 600 800 re f", "1 g"),
        ("0.85 g", "0.85 g"),
        ("0 g 40 590 100 30 re f", "1 g"),
        ("20 w 0 G 40 605 m 340 605 l S", "1 g"),
        ("0 g 40 590 300 30 re f 0 0 1 1 re W n", ""),
    ],
)
def test_text_that_differs_from_what_lies_behind_part_of_it_is_seen(ground, ink):
    content = b"q %s Q q %s Q" % (ground.encode(), at(50, 600, UNSEEN, before=ink or "1 g"))
    found = page(content)
    assert (found.text, found.warnings) == (UNSEEN, ())


def test_a_ground_that_nobody_sees_is_none():
    resources = b"/ExtGState<</G<</ca 0>>>>"
    ground = b"q 0 g /G gs 0 580 600 60 re f Q q 0 0 1 1 re W n 0 g 0 580 600 60 re f Q "
    assert hidden(ground + at(50, 600, UNSEEN, before="1 g"), "white on white", resources=resources)


@pytest.mark.parametrize(
    "boxes", ["0 0 1 1 re f " * 5000, "".join(f"{n % 90} {n % 70} 1 1 re f " for n in range(6000))]
)
def test_very_many_boxes_elsewhere_change_nothing(boxes):
    assert hidden(b"0.5 g " + boxes.encode() + at(50, 600, UNSEEN, before="1 g"), "white on white")


def test_very_many_boxes_in_the_place_are_told():
    boxes = "".join(f"{50 + n % 20}.{n} 601 0.5 0.5 re f " for n in range(3000))
    found = page(SEEN + b"0.5 g " + boxes.encode() + at(52, 600, UNSEEN, before="1 g", size=11))
    assert UNSEEN in found.text
    assert "which perhaps nobody sees: 3 words" in found.warnings[0]


def test_black_text_where_very_much_is_painted_is_not_doubted():
    boxes = "".join(f"{50 + n % 20}.{n} 601 0.5 0.5 re f " for n in range(3000))
    assert page(b"0.5 g " + boxes.encode() + at(52, 600, "Map", before="0 g", size=11)).warnings == ()


def test_where_all_that_is_painted_is_too_much_white_text_is_told(monkeypatch):
    monkeypatch.setattr("spsl_cli.documents.pdf.surface._MOST_PAINTED", 2_000)
    boxes = b"0 g 1 1 598 798 re f 1 g 1 1 598 798 re f " * 9
    found = page(boxes + at(50, 600, UNSEEN, before="1 g") + at(50, 500, "Black", before="0 g"))
    assert found.text == f"{UNSEEN}\nBlack"
    assert "which perhaps nobody sees: 3 words" in found.warnings[0]


@pytest.mark.parametrize(
    "ground", [b"/Pattern cs /P scn 0 0 2 2 re f ", b"q 0 0 1 1 re W n /S sh Q ", b"/Pattern cs /P scn "]
)
def test_a_pattern_paints_no_more_than_its_place(ground):
    assert hidden(ground + at(50, 600, UNSEEN, before="1 g"), "white on white")


def test_white_text_on_a_pattern_is_seen():
    assert page(b"/Pattern cs /P scn 0 580 600 60 re f " + at(50, 600, UNSEEN, before="1 g")).text == UNSEEN


# --- images


def image(pixels: bytes, wide: int, high: int) -> bytes:
    entries = b"/Type/XObject/Subtype/Image/Width %d/Height %d/BitsPerComponent 8/ColorSpace/DeviceGray" % (wide, high)
    return stream(pixels, entries)


@pytest.mark.parametrize(
    ("pixels", "text", "warning"),
    [
        (b"\xff" * 4, "", "white on white"),
        (b"\0" * 4, UNSEEN, None),
        (b"\xff\0\0\xff", UNSEEN, "perhaps nobody sees"),
    ],
)
def test_white_text_on_a_small_image(pixels, text, warning):
    content = b"q 600 0 0 100 0 550 cm /I Do Q " + at(50, 600, UNSEEN, before="1 g")
    found = page(SEEN + content, resources=b"/XObject<</I 6 0 R>>", more=(image(pixels, 2, 2),))
    assert found.text == f"Seen by all.\n{text}".strip()
    assert [warning in told for told in found.warnings] == ([True] if warning else [])


@pytest.mark.parametrize(("wide", "is_scan"), [(1, False), (200, False), (620, True), (2480, True)])
def test_only_an_image_fine_enough_to_show_text_is_a_scan(wide, is_scan):
    content = SEEN + b"q 600 0 0 800 0 0 cm /I Do Q " + at(50, 600, UNSEEN, before="3 Tr")
    found = page(content, resources=b"/XObject<</I 6 0 R>>", more=(image(b"\x80", wide, wide),))
    assert (UNSEEN in found.text) is is_scan


# --- colours


@pytest.mark.parametrize(
    ("given", "numbers", "colour"),
    [
        ("/DeviceGray", [0.5], (0.5, 0.5, 0.5)),
        ("/CalRGB", [1, 0, 0], (1, 0, 0)),
        ("/DeviceCMYK", [0, 0, 0, 1], (0, 0, 0)),
    ],
)
def test_plain_spaces_are_known(given, numbers, colour):
    assert are_alike(space(given, None)[0](numbers), colour)


@pytest.mark.parametrize(
    ("spaces", "chosen", "is_seen"),
    [
        ("/C[/Indexed/DeviceRGB 1<ffffff000000>]", "/C cs 0 sc", False),
        ("/C[/Indexed/DeviceRGB 1<ffffff000000>]", "/C cs 1 sc", True),
        ("/C[/Lab<</WhitePoint[0.95 1 1.08]>>]", "/C cs 100 0 0 sc", False),
        ("/C[/Lab<</WhitePoint[0.95 1 1.08]>>]", "/C cs 50 40 0 sc", True),
        ("/C[/Separation/Spot/DeviceGray<</FunctionType 2/C0[1]/C1[0]/N 1>>]", "/C cs 0 scn", False),
        ("/C[/Separation/Spot/DeviceGray<</FunctionType 2/C0[0]/C1[1]/N 1>>]", "/C cs 1 scn", False),
        ("/C[/Separation/Spot/DeviceGray<</FunctionType 2/C0[1]/C1[0]/N 1>>]", "/C cs 1 scn", True),
        ("/C[/DeviceN[/A/B]/DeviceRGB<</FunctionType 4>>]", "/C cs 0.5 0.5 scn", True),
    ],
)
def test_colours_of_named_spaces_are_known(spaces, chosen, is_seen):
    found = page(SEEN + at(50, 600, UNSEEN, before=chosen), resources=b"/ColorSpace<<%s>>" % spaces.encode())
    assert (UNSEEN in found.text) is is_seen
