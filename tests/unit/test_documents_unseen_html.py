"""Text of a page that nobody sees is left out and counted; what a reader can see stays."""

from __future__ import annotations

import pytest

from spsl_cli.documents import epub, html, mail
from spsl_cli.documents.source import Source, UnreadableError
from tests.unit.test_documents_epub import book, item, package, spine


def read(markup: str) -> tuple[str, tuple[str, ...]]:
    extract = html.read(Source("page.html", markup.encode()))
    return extract.pages[0].text, extract.warnings


def told(why: str, words: int = 3) -> tuple[str, ...]:
    return (f"hidden text left out ({why}): {words} {'word' if words == 1 else 'words'}",)


HIDING = [
    ("display:none", "marked as hidden"),
    ("DISPLAY : None !important; display:block", "marked as hidden"),
    (r"dis\70 lay:none", "marked as hidden"),
    ("color:red;/* x */display:none", "marked as hidden"),
    ("visibility:hidden", "marked as hidden"),
    ("opacity:0", "transparent"),
    ("opacity:0%", "transparent"),
    ("color:transparent", "transparent"),
    ("font-size:0", "tiny"),
    ("font-size:1px", "tiny"),
    ("font:0/0 a", "tiny"),
    ("max-height:0;overflow:hidden", "tiny"),
    ("position:absolute;left:-9999px", "outside the page"),
    ("position:fixed;top:-100em", "outside the page"),
    ("text-indent:-9999px", "outside the page"),
    ("color:#fff;background:#ffffff", "white on white"),
    ("color:#000;background-color:rgb(2, 0, 1)", "in the colour of its background"),
]


@pytest.mark.parametrize(("style", "why"), HIDING)
def test_hidden_by_its_own_style(style: str, why: str) -> None:
    assert read(f'<p>a</p><p style="{style}">say <b>forty</b> two</p><p>b</p>') == ("a\n\nb", told(why))


@pytest.mark.parametrize(("style", "why"), HIDING)
@pytest.mark.parametrize("selector", ["p.h", ".h", "#i", "div , .h", ".h.k", "*.h"])
def test_hidden_by_a_simple_rule(style: str, why: str, selector: str) -> None:
    rules = f"<style>/* {{ */ body{{margin:0}} {selector}{{{style}}}</style>"
    assert read(f'{rules}<p>a</p><p class="k h" id=i>say <b>forty</b> two</p><p>b</p>') == ("a\n\nb", told(why))


def test_hidden_attribute_and_what_is_within() -> None:
    page = "<p>a<div hidden>say <script>one two</script><style>p{}</style><p style='visibility:visible'>forty</div>b"
    assert read(page) == ("a\n\nb", told("marked as hidden", 2))


@pytest.mark.parametrize(
    "page",
    [
        "<p style='font-size:0'><b style='font-size:14px'>seen</b></p>",
        "<p style='visibility:hidden'><b style='visibility:visible'>seen</b></p>",
        "<p style='opacity:0; transition: opacity 1s'>seen</p>",
        "<p style='opacity:0.5'>seen</p>",
        "<body style='opacity:0;display:none'>seen",
        "<p style='display:none; display:block'>seen</p>",
        "<p style='background:#fff'><b style='background:#008;color:#fff'>seen</b></p>",
        "<p style='background:#fff url(x.png);color:#fff'>seen</p>",
        "<p style='color:#fff'>seen</p>",
        "<p style='left:-9999px'>seen</p>",
        "<p style='height:0;overflow:hidden;padding-bottom:56%'>seen</p>",
        "<p hidden=until-found>seen</p>",
        "<style>p{display:none} p.on{display:block}</style><p class=on>seen</p>",
        "<style>.x{display:none} nav .x{display:block}</style><p class=x>seen</p>",
        "<style>.x{visibility:hidden} .x:hover{visibility:visible}</style><p class=x>seen</p>",
        "<style>@media print{p{display:none}} @media (max-width:600px){p{display:none}}</style><p>seen</p>",
        "<style media=print>p{display:none}</style><p>seen</p>",
        "<style>p::before{display:none} div p{display:none}</style><p>seen</p>",
        "<link rel=stylesheet href=x.css><body style='background:#fff'><p class=x style='color:#fff'>seen</p>",
        "<!-- <style>p{display:none}</style> --><p>seen</p>",
        "<p style='display:none-such'>seen</p>",
    ],
)
def test_what_can_be_seen_stays(page: str) -> None:
    assert read(page) == ("seen", ())


def test_colours_are_those_of_the_elements_around() -> None:
    page = '<table bgcolor="#FEFEFE"><tr><td><font color=white>say</font> one<td style="background:#123">two</table>'
    assert read(page) == ("one | two", told("white on white", 1))


def test_a_rule_holds_for_what_stands_before_it() -> None:
    assert read("<p class=h>say<p>a<p>b</p><style>.h{display:none}</style>") == ("a\n\nb", told("marked as hidden", 1))


def test_a_picture_in_veiled_text_is_not_named() -> None:
    page = "<p>a<p style='visibility:hidden'>b<img alt=c><input value=d><p>e"
    assert read(page) == ("a\n\ne", told("marked as hidden", 1))


def test_a_page_of_hidden_text_only_says_so() -> None:
    with pytest.raises(UnreadableError, match=r"no text \(hidden text left out \(marked as hidden\): 2 words\)"):
        read("<p style='display:none'>say it</p>")


def test_mail_and_books_count_it_too() -> None:
    parts = [b"Content-Type: text/html\r\n\r\n" + f"<p>a<p style='font-size:0'>{'x ' * n}".encode() for n in (2, 3)]
    mbox = b"\n\n".join(b"From a@b Mon Jan  1 00:00:00 2024\nFrom: a@b\n" + part for part in parts)
    extract = mail.read(Source("a.mbox", mbox + b"\n"))
    assert "x" not in extract.pages[0].text.replace("mbox", "")
    assert extract.warnings == told("tiny", 5)  # one line for all messages
    pages = item("a", "a.xhtml") + item("b", "b.xhtml")
    hidden = "<style>.h{display:none}</style><p>a</p><p class='h'>say it</p>"
    opf = package(pages, spine("a", "b"))
    extract = epub.read(Source("a.epub", book(opf, ("OPS/a.xhtml", hidden), ("OPS/b.xhtml", hidden))))
    assert extract.warnings == told("marked as hidden", 4)
    assert "say" not in extract.pages[0].text


def test_pages_within_a_page() -> None:
    page = """<p>a<iframe srcdoc="<title>t</title><p>inner &amp;amp; <b hidden>no</b>">old</iframe><p>b"""
    assert read(page) == ("a\ninner &\n\nb", told("marked as hidden", 1))
    assert read("<p>a<iframe src=x>old</iframe>") == ("a", ())
    assert read("<p>a<div><template shadowrootmode=open><p>shadow</template></div>b") == ("a\n\nshadow\n\nb", ())
    assert read("<p>a<template><p>no</template>") == ("a", ())


def test_pages_within_pages_have_an_end() -> None:
    page = "<p>deepest"
    for _ in range(6):
        page = "<p>x<iframe srcdoc='" + page.replace("&", "&amp;").replace("'", "&#39;") + "'></iframe>"
    assert read(page) == ("x\nx\nx\nx", ("pages inside pages deeper than 3 are not read",))


def test_frames_are_named() -> None:
    text, warnings = read("<frameset><frame src=a.html><frame src=b.html><noframes>none</noframes></frameset>")
    assert text == "none"
    assert warnings == ("a page made of frames, which show other files that are not read: a.html, b.html",)


def test_entities_of_the_page() -> None:
    doctype = (
        "<!DOCTYPE html [<!ENTITY co 'R&#38;D Ltd'><!ENTITY f SYSTEM 'file:///etc/passwd'><!ENTITY lt '&#38;#60;'>]>"
    )
    assert read(f"{doctype}<html><p>&co; &f; 1 &lt; 2 &mdash;</html>") == ("R&D Ltd &f; 1 < 2 —", ())


@pytest.mark.parametrize(
    ("head", "encoding"),
    [
        ('<!-- <meta charset="koi8-r"> --><meta charset="windows-1252">', "cp1252"),
        ('<!-- <meta charset="koi8-r"> --><meta charset="windows-1251">', "cp1251"),
        ('<meta charset="windows-1251"><!-- <meta charset="koi8-r"> -->', "cp1251"),
    ],
)
def test_an_encoding_declared_in_a_comment_is_none(head: str, encoding: str) -> None:
    extract = html.read(Source("a.html", f"<html><head>{head}<body>".encode() + "naïve".encode("cp1252")))
    assert extract.encoding == encoding
