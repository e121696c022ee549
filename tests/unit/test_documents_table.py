"""Tables as text: which sign divides them, how a row reads, and what is told about rows that are not as the others."""

from __future__ import annotations

import pytest

from spsl_cli.documents import table
from spsl_cli.documents.limits import Limits
from spsl_cli.documents.source import Extract, Source, UnreadableError


def read(data: str | bytes, name: str = "file.csv", **limits) -> Extract:
    content = data.encode() if isinstance(data, str) else data
    return table.read(Source(name, content, limits=Limits(**limits)))


def lines(data: str | bytes, name: str = "file.csv") -> list[str]:
    extract = read(data, name)
    assert extract.warnings == ()
    return extract.pages[0].text.splitlines()


def test_a_row_a_line_with_the_header_first():
    extract = read("Port,Depth\nGent,12.5\nOstend,8\n")
    assert extract.pages[0].text == "| Port | Depth |\n| Gent | 12.5 |\n| Ostend | 8 |\n"
    assert (extract.media_type, extract.encoding, len(extract.pages)) == ("text/csv", "utf-8", 1)
    assert extract.warnings == ()


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.csv", "Name,Price\nRope,3\nMast,900\n"),
        ("a.csv", "Name;Price\nRope;3\nMast;900\n"),
        ("a.csv", "Name\tPrice\nRope\t3\nMast\t900\n"),
        ("a.csv", "Name|Price\nRope|3\nMast|900\n"),
        ("a.tsv", "Name\tPrice\nRope\t3\nMast\t900\n"),
        ("a.tab", "Name,Price\nRope,3\nMast,900\n"),
        ("a.csv", 'Name, Price\r\n"Rope", 3\r\n"Mast", 900'),
    ],
)
def test_every_usual_delimiter(name, data):
    assert lines(data, name) == ["| Name | Price |", "| Rope | 3 |", "| Mast | 900 |"]


def test_the_delimiter_divides_all_rows_alike():
    """Decimal commas are in every row, but not equally many; the semicolons are."""
    assert lines('Sort;Preis;Menge\nA;1,50;2,5\nB;3;1\n"C; gut";4,25;9\n') == [
        "| Sort | Preis | Menge |",
        "| A | 1,50 | 2,5 |",
        "| B | 3 | 1 |",
        "| C; gut | 4,25 | 9 |",
    ]


def test_the_usual_delimiter_wins_a_tie():
    assert lines("a;b,c;d\n1;2,3;4\n") != lines("a;b,c;d\n1;2,3;4\n", "file.tsv")
    assert lines("a;b,c;d\n1;2,3;4\n") == ["| a;b | c;d |", "| 1;2 | 3;4 |"]
    assert lines("a,b\tc,d\n1,2\t3,4\n", "file.tsv") == ["| a,b | c,d |", "| 1,2 | 3,4 |"]


@pytest.mark.parametrize("first", ["sep=;", "SEP=;", '"sep=;"'])
def test_excel_names_its_delimiter(first):
    assert lines(f"{first}\r\na;b,b,b\r\n1;2\r\n") == ["| a | b,b,b |", "| 1 | 2 |"]


def test_quoted_cells():
    data = 'what,said\n"a, b","he said ""no"""\n" padded ",""\n"first\nsecond\n\nthird",x\nlast,5" pipe\n'
    assert lines(data) == [
        "| what | said |",
        '| a, b | he said "no" |',
        "| padded |  |",
        "| first <br> second <br>  <br> third | x |",
        '| last | 5" pipe |',
    ]


def test_quotes_escaped_as_some_programs_do():
    data = 'id,said\n1,"a \\"word\\", and more"\n2,"C:\\dir\\"\n3,"both ""ways\\""\n4,"two\nlines \\"here\\"!"\n'
    assert lines(data) == [
        "| id | said |",
        '| 1 | a "word", and more |',
        "| 2 | C:\\dir\\ |",
        '| 3 | both "ways" |',
        '| 4 | two <br> lines "here"! |',
    ]


def test_bars_in_cells_are_told_from_those_between():
    assert lines("a,b\nx|y,z\n") == ["| a | b |", r"| x\|y | z |"]


def test_line_n_is_row_n():
    rows = [f"{number},row {number}" for number in range(2, 500)]
    shown = lines("n,name\n" + "\n".join(rows) + "\n")
    assert all(line.startswith(f"| {number} |") for number, line in enumerate(shown[1:], 2))
    assert lines("a,b\n\n1,2\n")[2] == "| 1 | 2 |"


def test_rows_of_another_width_are_told_and_kept():
    extract = read("a,b,c\n1,2\n3,4,5\n6,7,8,9\n\n1,1,1\n")
    assert extract.pages[0].text == "| a | b | c |\n| 1 | 2 |\n| 3 | 4 | 5 |\n| 6 | 7 | 8 | 9 |\n\n| 1 | 1 | 1 |\n"
    assert extract.warnings == ("rows 2, 4 not of 3 cells as most are",)
    many = read("a,b\n" + "1,2\n" * 100 + "1,2,3\n" * 50)
    assert many.warnings == ("rows 102-109 and 42 more not of 2 cells as most are",)


def test_a_quote_that_is_never_closed_takes_no_other_row():
    extract = read('a,b\n1,"open\n2,x\n3,"y, z"\n4,w\n')
    assert extract.pages[0].text == '| a | b |\n| 1 | "open |\n| 2 | x |\n| 3 | y, z |\n| 4 | w |\n'
    assert extract.warnings == ("quotes do not match in row 2: split at every delimiter, quotes kept",)


def test_a_quote_within_a_quoted_cell():
    extract = read('a,b\n"5" pipe",2\n"ok",3\n')
    assert extract.pages[0].text == '| a | b |\n| "5" pipe" | 2 |\n| ok | 3 |\n'
    assert extract.warnings == ("quotes do not match in row 2: split at every delimiter, quotes kept",)


def test_a_cell_of_many_lines_is_suspected():
    extract = read('a,b\n1,"open\n' + "2,x\n" * 60 + 'end"\n')
    assert extract.warnings == ("a quoted cell of more than 50 lines in row 2: a quote may be unclosed",)
    assert extract.pages[0].text.count("2,x") == 60


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        ("Größe;Ort\nâ;Öl\n".encode("cp1252"), "cp1252"),
        ("Größe;Ort\nâ;Öl\n".encode("utf-8-sig"), "utf-8"),
        ("\ufeffGröße;Ort\nâ;Öl\n".encode("utf-16-le"), "utf-16-le"),
    ],
)
def test_encodings(data, encoding):
    source = Source("file.csv", data)
    extract = table.read(source)
    assert table.matches(source)
    assert extract.pages[0].text == "| Größe | Ort |\n| â | Öl |\n"
    assert extract.encoding == encoding
    assert any("cp1252" in warning for warning in extract.warnings) is (encoding == "cp1252")


def test_tabs_make_another_media_type():
    assert read("a\tb\n1\t2\n", "file.tsv").media_type == "text/tab-separated-values"


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("a.csv", "a,b\n1,2\n", True),
        ("A.TSV", "a\tb\n", True),
        ("a.csv", "one line,\nof words\nwithout\nany table\n", False),
        ("a.csv", "only\none\ncolumn\n", False),
        ("a.csv", "", False),
        ("a.txt", "a,b\n1,2\n", False),
        ("csv", "a,b\n1,2\n", False),
    ],
)
def test_known_by_name_and_content_that_agrees(name, data, expected):
    assert table.matches(Source(name, data.encode())) is expected


def test_one_column_stays_as_it_is():
    assert read("only\none | two\n\ncolumn\n").pages[0].text == "only\none | two\n\ncolumn\n"


@pytest.mark.parametrize("data", [b"", b"\n \n", b"\xef\xbb\xbf"])
def test_nothing_to_read(data):
    with pytest.raises(UnreadableError, match=r"^no text$"):
        read(data)


def test_more_than_the_limit_of_characters():
    told = "limit of 1,000 characters, with the bars between its cells: split it into several files"
    with pytest.raises(UnreadableError, match=told):
        read("a,b\n" * 200, document_characters=1000)
    for row in ("a," * 400, '"a",' * 400):
        with pytest.raises(UnreadableError, match="row of more than 333 cells"):
            read(row, document_characters=1000)
