"""HTML pages as a person reads them: what is kept, what is left out, how lines and words are set apart."""

from __future__ import annotations

import pytest

from spsl_cli.documents import html
from spsl_cli.documents.html import plain
from spsl_cli.documents.limits import Limits
from spsl_cli.documents.source import Source, UnreadableError

LIMITS = Limits()


def text(markup: str) -> str:
    return plain(markup, limits=LIMITS)


def read(data: bytes, name: str = "page.html") -> html.Extract:
    return html.read(Source(name, data))


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<p>one</p><p>two</p>", "one\n\ntwo"),
        ("<p>one<p>two", "one\n\ntwo"),
        ("<div>one</div><div>two</div>three", "one\ntwo\nthree"),
        ("one<br>two<br/>three", "one\ntwo\nthree"),
        ("one<br><br><br>two", "one\n\ntwo"),
        ("<p>one<br></p><p>two</p>", "one\n\ntwo"),
        ("<p>  much \n\t white\n space </p>", "much white space"),
        ("Bread<br>Butter", "Bread\nButter"),
        ("un<b>break</b>able and <i>set</i> <u>apart</u>", "unbreakable and set apart"),
        ("<b>one </b>two<b> three</b>", "one two three"),
        ("<span>a</span><p>b</p><span>c</span>", "a\n\nb\n\nc"),
        ("20&nbsp;&euro; &amp; &lt;b&gt; &#8211; &eacute;&#x2014;", "20 € & <b> \u2013 é—"),
        ("R&D at AT&T &unknown; &copy", "R&D at AT&T &unknown; ©"),
        ("a&#150;b&#128;", "a\u2013b€"),
        ("1 < 2 and 3 > 2", "1 < 2 and 3 > 2"),
        ("soft&shy;hyphen zero&#8203;width", "softhyphen zerowidth"),
        ("<p>&nbsp;</p><p>x</p><p> </p>", "x"),
        ("<h1>Top</h1><p>x</p><h3>Deep<br>er</h3>y", "# Top\n\nx\n\n### Deep er\n\ny"),
        ("<h2></h2>x", "x"),
        ("a<hr>b", "a\n\n---\n\nb"),
        ("<blockquote><p>one</p><p>two</p></blockquote>three", "> one\n\n> two\n\nthree"),
        ("<q>said</q>, she said", "“said”, she said"),
        ("10<sup>6</sup> m<sup>-2</sup>, 1<sup>st</sup>, CO<sub>2</sub>", "10⁶ m⁻², 1st, CO2"),
        ("was <s>20</s> <del>19</del> is <ins>18</ins>", "was ~~20~~ ~~19~~ is 18"),
        ("<ruby>漢<rp>[</rp><rt>kan</rt><rp>]</rp></ruby>字", "漢(kan)字"),
        ("long<wbr>word", "longword"),
        ('<span style="display:block">a</span><span style="Display : Block">b</span>', "a\nb"),
    ],
)
def test_words_and_lines(markup: str, expected: str) -> None:
    assert text(markup) == expected


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<ul><li>a<li>b</ul>", "- a\n- b"),
        ("<p>x</p><ul><li>a<ul><li>b<ul><li>c</ul></ul><li>d</ul><p>y</p>", "x\n\n- a\n  - b\n    - c\n- d\n\ny"),
        ("<ul><li><p>a</p><p>b</p></li><li><p>c</p></li></ul>", "- a\n\n  b\n- c"),
        ('<ol start="3"><li>c<li value="7">g<li>h</ol>', "3. c\n7. g\n8. h"),
        ('<ol type="a"><li>x<li>y</ol>', "a. x\nb. y"),
        ('<ol type="I" start="9"><li>x<li>y</ol>', "IX. x\nX. y"),
        ('<ol style="list-style-type: lower-roman"><li>x<li>y</ol>', "i. x\nii. y"),
        ('<ol reversed start="2"><li>x<li>y</ol>', "2. x\n1. y"),
        ("<ol><li>x<li><li>z</ol>", "1. x\n3. z"),
        ("<nav><ol><li>1.1 x<li>1.2 y</ol></nav>", "- 1.1 x\n- 1.2 y"),
        ("<ol><li>one<br>more<li>two</ol>", "1. one\n   more\n2. two"),
        ("<li>loose", "- loose"),
        ("<dl><dt>T<dd>one<dd>two<dt>U<dd>three</dl>", "T\n  one\n  two\nU\n  three"),
        ("<details><summary>More</summary>hidden till clicked</details>", "More\nhidden till clicked"),
    ],
)
def test_lists(markup: str, expected: str) -> None:
    assert text(markup) == expected


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<table><tr><th>A<th>B<tr><td>1<td>2</table>", "A | B\n1 | 2"),
        ("x<table><caption>Cap</caption><tr><td>1<td>2</table>y", "x\nCap\n\n1 | 2\n\ny"),
        ("<table><tr><td>a<br>b<td><p>c</p><p>d</p></table>", "a b | c d"),
        ("<table><tr><th colspan=2>Both<th>C<tr><td>1<td>2<td>3</table>", "Both |  | C\n1 | 2 | 3"),
        ("<table><tr><td rowspan=2>N<td>1<tr><td>2<tr><td>S<td>3</table>", "N | 1\nN | 2\nS | 3"),
        ("<table><tr><td>a<td><td>c<tr><td>d<td>e<td></table>", "a |  | c\nd | e"),
        ("<table><tr><td>a<td>&nbsp;<td>c<tr><td>d<td><td>f</table>", "a | c\nd | f"),
        ("<table><tr><td>a<tr><td><tr><td>b</table>", "a\nb"),
        ("<table><tr><td><h2>Menu</h2><p>one</p><td><p>two</p></table>", "## Menu\n\none\n\ntwo"),
        ("<table><tr><td>l<td><table><tr><td>1<td>2<tr><td>3<td>4</table></table>", "l\n1 | 2\n3 | 4"),
        ('<table role="presentation"><tr><td>a<td>b</table>', "a\nb"),
        ("<ul><li>x<table><tr><td>1<td>2</table></ul>", "- x\n\n  1 | 2"),
        ("<tr><td>a</td><td>b</td></tr>", "a\nb"),
        ("<table>stray<tr><td>a<td>b</table>", "stray\n\na | b"),
    ],
)
def test_tables(markup: str, expected: str) -> None:
    assert text(markup) == expected


def test_long_prose_side_by_side_is_not_forced_onto_one_line() -> None:
    prose = "word " * 200
    result = text(f"<table><tr><td><p>{prose}</p><p>end</p><td>{prose}</table>")
    assert "|" not in result
    assert result.count("\n\nend\n") == 1


def test_code_keeps_its_white_space() -> None:
    markup = "<p>So:</p><pre>\n\ndef f():\n\treturn  1\n\n\n  x\n\n</pre>after"
    assert text(markup) == "So:\n\ndef f():\n\treturn  1\n\n\n  x\n\nafter"
    assert text("<pre>a\r\nb</pre>") == "a\nb"
    assert text("<pre><code>if <b>x</b>:\n    y</code></pre>") == "if x:\n    y"
    assert text('<div style="white-space: pre-wrap">a</div><span style="white-space:pre">b  c</span>') == "a\nb  c"


def test_what_a_person_does_not_see_is_left_out() -> None:
    result = text(
        "<html><head><title>T</title><style>p{color:crimson}</style><script>track()</script></head><body>"
        "<!-- note --><template>tpl</template><noscript>enable</noscript><p hidden>no1</p>"
        '<p style="color:red; display : NONE">no2<b>no3</b></p><iframe>no4</iframe><datalist><option>no5</datalist>'
        '<p hidden="until-found">found</p><p aria-hidden="true">seen</p><input type="hidden" value="no6">'
        "<svg><style>no7</style><text>drawn</text></svg><![if x]>cond<![endif]></body></html>"
    )
    assert result == "T\n\nfound\n\nseen\n\ndrawn\ncond"


def test_control_of_reading_order_is_left_out() -> None:
    assert text("pay \u202e0001\u202c now \u2066x\u2069 &#x202E;y<bdo dir=rtl>z</bdo>") == "pay 0001 now x yz"


def test_navigation_and_footers_stay() -> None:
    assert text("<nav><a href=/a>Home</a></nav><main>Body</main><footer>Address</footer>") == "Home\nBody\nAddress"


def test_links_pictures_and_fields() -> None:
    assert text('see <a href="http://x.example/">the page</a>, <a href="u">http://y.example</a>') == (
        "see the page, http://y.example"
    )
    assert text("<a href=1>Docs</a><a href=2>Blog</a> <a href=3>[1]</a><a href=4>[2]</a>") == "Docs Blog [1][2]"
    assert text("<a href=1>un</a>like") == "unlike"
    assert text('<h2>Use<a class="headerlink" href="#use">¶</a></h2>') == "## Use"
    assert text('<img alt="A  red\n door"><img alt=""><img src=x> <img alt="T">he') == "[image: A red door] The"
    assert (
        text(
            '<label>Name <input value="Ola"></label><input type=password value=x><input type=checkbox checked>Yes'
            '<input type=radio>No<input placeholder="City"><button>Go</button><textarea>a\n b</textarea>'
        )
        == "Name Ola [x] Yes [ ] No City Go\n\na\n b"
    )
    assert text("<select><optgroup label=x><option>one<option selected>two</select>") == "[ ] one\n[x] two"


def test_formulas_keep_their_meaning_on_one_line() -> None:
    half = "<mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mn>2</mn></mfrac>"
    power = "<msup><mi>x</mi><mn>10</mn></msup><msubsup><mi>y</mi><mn>1</mn><mi>k</mi></msubsup>"
    roots = "<msqrt><mi>z</mi><mo>-</mo><mn>1</mn></msqrt><mroot><mi>u</mi><mn>3</mn></mroot>"
    tex = '<annotation encoding="application/x-tex">\\frac</annotation>'
    formula = f"<math><semantics><mrow>{half}<mo>=</mo>{power}{roots}</mrow>{tex}</semantics></math>"
    assert text(f"so {formula}.") == "so (a+b)/2=x^10y_1^k√(z-1)√u^1/3."
    rows = "<mtr><mtd>1</mtd><mtd>0</mtd></mtr><mtr><mtd>0</mtd><mtd>1</mtd></mtr>"
    assert text(f"<math><mo>[</mo><mtable>{rows}</mtable><mo>]</mo></math>") == "[1, 0; 0, 1]"


def test_title_stands_first_and_once() -> None:
    assert text("<title> A &amp;\n B </title><p>x") == "A & B\n\nx"
    assert text("<title>Same</title><h1>Same</h1>x") == "# Same\n\nx"
    assert text("<svg><title>icon</title></svg>x") == "icon x"


def test_a_page_of_scripts_is_read_by_what_it_says_without_them() -> None:
    assert text("<body><script>app()</script><noscript>Please enable scripts</noscript>") == "Please enable scripts"
    assert text('<body style="display:none"><p>fades in</p>') == "fades in"
    with pytest.raises(UnreadableError, match="no text"):
        read(b"<html><body><script>app()</script></body></html>")


def test_xhtml() -> None:
    page = (
        '<?xml version="1.0" encoding="utf-8"?><!DOCTYPE html [<!ENTITY own "x">]>'
        '<html xmlns="http://www.w3.org/1999/xhtml"><head><title/><script src="s.js"/></head><body>'
        '<a id="anchor"/><p>one<br/>two</p><div/><p><![CDATA[a < b & c]]></p></body></html>'
    )
    assert text(page) == "one\ntwo\n\na < b & c"


def test_broken_markup_loses_no_text() -> None:
    assert text("<p>a</b>c</p></div></html>after<p>more") == "ac\n\nafter\n\nmore"
    assert text("<b><i>x</b>y</i><table><tr><td>z") == "xy\nz"
    assert text("a<div <p>b</p>") == "a\nb"


@pytest.mark.parametrize("tag", ["div", "b"])
def test_nesting_of_a_hundred_thousand_elements_is_read_whole(tag: str) -> None:
    deep = 100_000
    assert text(f"<{tag}>" * deep + "core" + f"</{tag}>" * deep + "<p>after") == "core\n\nafter"


@pytest.mark.parametrize("opening", ["<ul><li>x", "<blockquote>x", "<table><tr><td>x", "<dl><dd>x"])
def test_structures_nested_too_deep_are_refused(opening: str) -> None:
    assert "x" in text(opening * 500)
    with pytest.raises(UnreadableError, match="nested deeper than the limit of 1,000"):
        text(opening * 1_100)


def test_no_markup_multiplies_without_end() -> None:
    small = Limits(document_characters=100_000)
    for markup in (
        "<table>" + "<tr><td colspan=1000>a<td>b" * 1_000,
        "<table><tr>" + "<td rowspan=60000>aaaa" * 300 + "<tr><td>b" * 300,
        "<blockquote>" * 900 + "x<br>" * 900,
    ):
        with pytest.raises(UnreadableError, match="more than the limit of 100,000 characters"):
            plain(markup, limits=small)


def test_large_text_is_not_cut() -> None:
    assert text("<p>" + "x" * 11_000_000 + "END").endswith("END")
    assert text("<pre>" + "line\n" * 300_000 + "END").count("\n") == 300_000


@pytest.mark.parametrize(
    ("data", "encoding", "expected"),
    [
        ("é€".encode(), "utf-8", "é€"),
        (b'<meta charset="iso-8859-1">' + "é €".encode(), "utf-8", "é €"),
        (b'<meta charset="iso-8859-1">\xe9 \x80', "cp1252", "é €"),
        (b'<META HTTP-EQUIV=Content-Type CONTENT="text/html; charset=windows-1251">\xcf\xf0', "cp1251", "Пр"),
        (b"<meta charset=Shift_JIS>" + "日本".encode("cp932"), "cp932", "日本"),
        (b'<?xml version="1.0" encoding="ISO-8859-2"?><html>\xb1', "iso8859-2", "ą"),
        (b"<meta charset=iso-2022-jp>" + "日本".encode("iso2022-jp"), "iso2022-jp", "日本"),
        ("\ufeff<meta charset=cp1251>é".encode("utf-16"), "utf-16-le", "é"),
        (b"<meta charset=utf-7>+ADw-b+AD4- x", "utf-8", "+ADw-b+AD4- x"),
        (b"<meta charset=unicode_escape>\\u0041", "utf-8", "\\u0041"),
    ],
)
def test_encodings(data: bytes, encoding: str, expected: str) -> None:
    extract = read(data)
    assert (extract.encoding, extract.pages[0].text, extract.warnings) == (encoding, expected, ())


def test_nothing_gives_nothing() -> None:
    assert [plain(markup, limits=Limits()) for markup in ("", " ", "<!", "<p>")] == [""] * 4


def test_a_declaration_that_does_not_fit_is_not_followed() -> None:
    extract = read(b"<meta charset=shift_jis><p>caf\xe9 \xff\x81 fin</p>" + b"plain words " * 20)
    assert "plain words" in extract.pages[0].text
    assert extract.encoding != "cp932"
    assert extract.warnings


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("a.html", b"<p>fragment", True),
        ("a.txt", b"\xef\xbb\xbf \n<!-- c --><!DOCTYPE html><p>", True),
        ("a", b'<?xml version="1.0"?>\n<html xmlns="x">', True),
        ("a.dat", "<html>".encode("utf-16"), True),
        ("a.php", b"<!DOCTYPE html><?php f(); ?>", False),
        ("a.md", b"Use <html> at the start", False),
        ("a.xml", b"<?xml version='1.0'?><note/>", False),
        ("a.html", b"\x00\x01\x02binary", False),
        ("a.txt", b"<htmlx>", False),
    ],
)
def test_what_counts_as_a_page(name: str, data: bytes, expected: bool) -> None:
    assert html.matches(Source(name, data)) is expected


def test_one_page_and_its_media_type() -> None:
    extract = read(b"<p>x")
    assert [(page.number, page.text) for page in extract.pages] == [(1, "x")]
    assert extract.media_type == "text/html"
    assert "\f" not in read(b"a\x0cb<pre>c\x0cd</pre>").pages[0].text
