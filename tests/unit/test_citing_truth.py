"""More than 500 answers with quotes, true and false by construction: what is marked verified is true, at its place.

The documents are made here, and so are the answers: true ones by what typography may do to a quote, false ones by the
ways in which answers go wrong and by what an attacker would try. Nothing here uses the code under test but `cite`: the
oracle compares words on strings that it flattens itself, and places are opened line by line.
"""

# ruff: noqa: RUF001 marks that look alike are the matter here
from __future__ import annotations

import random
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass

import pytest

from spsl_cli.citing.citations import Status, cite
from spsl_cli.documents import Document, LeftOut, Page

LEASE = (
    (
        "The landlord Alice Marten lets the flat to Boris Kant.\n"
        "The tenant pays 1,500 euro a month, due on the 3rd day.\n"
        "Heat is not included in this sum.\n"
        "The tenant must not keep more than two dogs — small ones.\n"
        "Every notice has to be given in writing."
    ),
    (
        "The landlord repairs the roof within 14 days of a\nwritten notice. “Ordinary wear” is nobody’s fault.\n"
        "Interest of 4.5 % falls due after −3 weeks of delay.\n"
        "The non-refundable deposit is 3½ months of rent.\n"
        "Every notice has to be given in writing."
    ),
    (
        "Losses beyond 10⁶ euro are shared, at a rate of 2 ‰.\n"
        "The office of the agent uses 5 mW of power and 7 kg of coal.\n"
        "The lessee doesn't owe anything for the first 1 250 litres of water.\n"
        "The annex was signed in Paragraph Ⅳ and a final section follows that runs"
    ),
    (
        "over to the last page of the contract and ends there.\n"
        "Every notice has to be given in writing.\nUnpaid bills are unacceptable to the bank."
    ),
)
BOOK = (
    ("i", "The author thanks her sister Rosalind for reading every draft.\nNo whale was harmed for this volume."),
    ("ii", "This preface was written at sea, in a terrible storm."),
    ("1", "The efﬁcient ofﬁcer ﬁnally found the café of his naïve friend.\nHe was a resumé writer by trade."),
    ("2", "Moby sank eleven ships between 1841 and 1847.\nHis crew ate 2.25 kg of biscuits a day."),
    ("3", "The captain said: “I shall ‘never’ return to Nantucket.”\nNobody believed the captain that night."),
)
NOTE = (
    "Dogs are welcome here at any time of the day.\nEach guest pays 20 crowns a day.\n\n"
    "An agree-\nment of this kind is a well-\nknown form of co-operation.\n"
    "Temperatures of -5 °C were measured at 6:30 in the morning.\nThe bank owns 65+ houses and $4 million in cash.\n"
    "It grew from 1990–1995 by a factor of 1/3 in each year.¹\n¹ According to the yearly report of the mayor.\n"
    "The oaken board is 5\" wide and 12' long.\nA mean length of 7 x\u0304 was found by all of them."
)
MARKDOWN = (
    "# Rules\n\n**Heat** is *never* free of charge in winter.\nRun `make install` before the first use of the tool.\n"
    "- the first rule is to ask\n- the second rule is to listen\n"
)
TABLE = "item\tprice\tnumber\nchairs of oak\t12\t500\ntables of pine\t7\t250\n"
CHINESE = "租户每月支付一千五百欧元,不包括\n取暖费用。房东应当在十四天之内修理屋顶。\n双方以书面形式通知对方。"
JAPANESE = "借主は毎月の家賃を三日までに支払う。暖房費は家賃に含まれない。犬を飼うことは許されている。"
ARABIC = "يدفع المستأجر ألفا وخمسمئة يورو كل شهر.\nهذه القيمة لا تشمل تكاليف التدفئة في الشتاء."
GERMAN = "Die Mieterin trinkt Bier in Maßen und zahlt keine Heizung.\nHerr Groß schuldet dem Verein 1.234,56 Euro."


def paged(path, pages):
    return Document(path, "0" * 64, "application/pdf", tuple(pages))


def flat(path, text, media_type="text/plain"):
    return Document(path, "0" * 64, media_type, (Page(1, text),))


LEASE_PDF = paged("docs/lease.pdf", [Page(i, text) for i, text in enumerate(LEASE, 1)])
BOOK_PDF = paged(
    "docs/book.pdf",
    [Page(i, t, name, left_out=(LeftOut(1, "A Whale"),) if i > 1 else ()) for i, (name, t) in enumerate(BOOK, 1)],
)
DOCUMENTS = (
    LEASE_PDF,
    BOOK_PDF,
    flat("docs/note.txt", NOTE),
    flat("docs/rules.md", MARKDOWN, "text/markdown"),
    flat("docs/table.tsv", TABLE, "text/tab-separated-values"),
    flat("docs/zh.txt", CHINESE),
    flat("docs/ja.txt", JAPANESE),
    flat("docs/ar.txt", ARABIC),
    flat("docs/de.txt", GERMAN),
)
BY_PATH = {document.path: document for document in DOCUMENTS}


# ---- the oracle -----------------------------------------------------------------------------------------------------

ALIKE = str.maketrans(
    {
        **dict.fromkeys('‘’“”„«»「」"', "'"),
        **dict.fromkeys("‐‑–—−", "-"),
        **dict.fromkeys("*`\u00ad\u200b\u200e\u200f", ""),
        **{chr(0xFF10 + digit): str(digit) for digit in range(10)},
        "ﬁ": "fi",
        "ﬂ": "fl",
        "ﬀ": "ff",
        "Ⅳ": "iv",
        "％": "%",
        "，": ",",
        "\f": "\n",
    }
)
LETTER = "[^\\W_]"
EAST = "\u3001-\u30ff\u4e00-\u9fff"


def flattened(text, *, joined=False):
    text = unicodedata.normalize("NFC", text).translate(ALIKE).replace("…", "...")
    text = re.sub(r"(?<=\w)-\n(?=\w)", "" if joined else "-", text)
    text = re.sub(rf"(?<=[{EAST},])\s+(?=[{EAST}])", "", text)
    return " ".join(text.lower().split())


def stands_in(quote, text):
    """Whether the words of the quote stand in the text, in one piece and cut between words."""
    words = re.sub(r"\s*\[page \w+\]\s*", " ", quote)
    for joined in (False, True, None):
        wanted = flattened(words).strip(" '.,;:!?。")
        there = flattened(text, joined=bool(joined))
        if joined is None:  # one word is broken, another has its hyphen at the line's end
            wanted, there = (re.sub(r"(?<=[a-z])-(?=[a-z])", "", one) for one in (wanted, there))
        for match in re.finditer(re.escape(wanted), there):
            before, after = there[max(0, match.start() - 2) : match.start()], there[match.end() : match.end() + 2]
            east = re.match(f"[{EAST}]", wanted)
            if not east and (re.search(r"\w['/.,:-]?$", before) and not before.endswith((" ", "\n"))):
                continue
            if not east and re.match(r"\w|['/-]\w|[.,:]\d|[%‰°+]", after):
                continue
            return True
    return False


def opened(citation):
    """The document's text from the place of a citation on, and the length of that line."""
    document = BY_PATH[citation.path]
    index = next(i for i, page in enumerate(document.pages) if page.number == citation.place.page)
    page = document.pages[index]
    assert citation.place.label == page.label
    lines = page.text.split("\n")
    for one in page.left_out:  # they count as lines of the page
        lines.insert(one.line - 1, None)
    line = lines[citation.place.line - 1]
    assert line is not None
    rest = [one for one in lines[citation.place.line - 1 :] if one is not None]
    return "\n".join(rest + [later.text for later in document.pages[index + 1 :]]), line


# ---- answers --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    kind: str
    answer: str
    true: bool
    path: str = ""
    page: int = 0


def is_single(sentence):
    return len(sentence.split()) >= 5 and not re.search(r"Every notice|-\n|¹|agree-", sentence)


def sentences():
    """(path, page, sentence) of all documents, but those that stand several times."""
    found = []
    for document in DOCUMENTS:
        if document.path.endswith(("tsv", "md", "zh.txt", "ja.txt")):
            continue
        for page in document.pages:
            text = page.text
            pieces = re.split(r"(?<=\.)(?<!\d\.)[”¹]?\s+(?=[^\W\d_a-z])|\n(?=[A-Z“¹ه])", text)
            found += [(document.path, page.number, one) for one in pieces if is_single(one)]
    return found


SENTENCES = sentences()


def inserted(word):
    def change(text, rng):
        words = text.split(" ")
        words.insert(rng.randrange(1, len(words)), word)
        return " ".join(words)

    return change


def changed(pattern, new):
    """The first of what matches becomes something else; None where nothing does."""

    def change(text, rng):
        after = re.sub(pattern, new, text, count=1)
        return None if after == text else after

    return change


def digit(text, rng):
    places = [i for i, one in enumerate(text) if one in "0123456789"]
    if not places:
        return None
    at = rng.choice(places)
    return text[:at] + str((int(text[at]) + rng.randrange(1, 10)) % 10) + text[at + 1 :]


def words_changed(how):
    """The words of the text with something done to one of them, at `at`; None where that does nothing."""

    def change(text, rng):
        words = text.split()
        before = words[:]
        how(words, rng.randrange(1, len(words) - 1))
        return None if words == before else " ".join(words)

    return change


def swap(words, at):
    words[at], words[at + 1] = words[at + 1], words[at]


def cut_first(words, at):
    words[0] = words[0][1:] if len(words[0]) > 3 else words[0]


def cut_last(words, at):
    words[-1] = words[-1].rstrip(".")[:-1] if len(words[-1].rstrip(".")) > 3 else words[-1]


FALSE = {
    "digit": digit,
    "sign added": changed(r"(?<![\w.,:/-])(?=[1-9])", "-"),
    "sign removed": changed(r"[-−](?=\d)", ""),
    "plus removed": changed(r"\+", ""),
    "unit": changed(r"\bkg\b", "mg"),
    "unit by case": changed(r"\bmW\b", "MW"),
    "unit by case, lower": changed(r"\bkg\b", "KG"),
    "time": changed(r"\b(month|day|week|year)(?=s?\b)", "decade"),
    "currency": changed(r"\b(euro|crowns|Euro)\b", "dollar"),
    "currency sign": changed(r"\$", "€"),
    "decimal comma": changed(r"(?<=\d)\.(?=\d)", ","),
    "decimal point": changed(r"(?<=\d),(?=\d)", "."),
    "separator gone": changed(r"(?<=\d)[.,:/ ](?=\d)", ""),
    "superscript lowered": changed("⁶", "6"),
    "superscript as power": changed("⁶", "^6"),
    "fraction spelled": changed("½", "1/2"),
    "fraction gone": changed("½", ""),
    "fraction made": changed("1/3", "⅓"),
    "percent": changed("%", "‰"),
    "per mille": changed("‰", "%"),
    "percent gone": changed(r"\s[%‰]", ""),
    "degrees": changed("°C", "°F"),
    "roman numeral": changed("Ⅳ", "VI"),
    "not added": inserted("not"),
    "never added": inserted("never"),
    "not removed": changed(r"\b(not|never|keine|doesn't) ", ""),
    "not removed, Arabic": changed("لا ", ""),
    "n't removed": changed(r"doesn't", "does"),
    "n't added": changed(r"\b(is|was|are|must)\b", r"\1n't"),
    "prefix removed": changed(r"(?i)\b(un|non-)(?=\w)", ""),
    "prefix added": changed(r"\b(included|written|believed|shared|signed|measured|welcome)\b", r"un\1"),
    "name": changed(r"\b(Alice|Boris|Rosalind|Moby|Groß|Nantucket)\b", "Charles"),
    "name respelled": changed(r"\b(Marten|Kant|Rosalind)\b", r"\1s"),
    "number word": changed(r"\b(two|eleven|first|last)\b", "three"),
    "Cyrillic a": changed("a", "\u0430"),
    "Greek o": changed("o", "\u03bf"),
    "letter for zero": changed("0", "O"),
    "zero for letter": changed("o", "0"),
    "letter for one": changed("1", "l"),
    "accent removed": changed(r"[éï]", "e"),
    "accent added": changed(r"(?<=\w)e(?=\w)", "e\u0301"),
    "accent added behind": changed(r"(?<=\w)(?=\.?$)", "\u0301"),
    "ss": changed("ß", "ss"),
    "override": changed(r" ", " \u202e"),
    "Arabic digits": changed(r"\d", "\u0663"),
    "circled digit": changed(r"\d", "③"),
    "two spaces gone": changed(r"(?<=[a-z]) (?=[a-z])", ""),
    "dash gone": changed(r" — ", " "),
    "inner mark gone": changed(r"(?<=\w)[.,:;](?= )", ""),
    "dropped": words_changed(lambda words, at: words.pop(at)),
    "doubled": words_changed(lambda words, at: words.insert(at, words[at])),
    "doubled first": words_changed(lambda words, at: words.insert(0, words[0])),
    "doubled last": words_changed(lambda words, at: words.append(words[-1])),
    "swapped": words_changed(swap),
    "foreign": words_changed(lambda words, at: words.__setitem__(at, "zebra")),
    "cut first": words_changed(cut_first),
    "cut last": words_changed(cut_last),
}


BY_CASE = ("unit by case", "unit by case, lower")
"""What the oracle, which is blind to case, has no opinion on."""


def between(text, rng):
    """Some words in a row, cut where no number, sign or mark is near."""
    words = text.split()
    plain = [i for i in range(len(words) + 1) if all(one.isalpha() for one in words[max(0, i - 2) : i + 2])]
    numerals = {"two", "eleven", "first"}
    plain = [i for i in plain if not numerals & set(words[max(0, i - 1) : i + 1])]
    pairs = [(i, j) for i in (0, *plain) for j in (*plain, len(words)) if j - i >= 4]
    i, j = rng.choice(pairs)
    return " ".join(words[i:j])


TRUE = {
    "verbatim": lambda text, rng: text,
    "some words": between,
    "some words again": between,
    "more words": between,
    "shouted": lambda text, rng: text.upper() if text.isascii() and not re.search(r"\d", text) else None,
    "lower first letter": lambda text, rng: text[0].lower() + text[1:],
    "straight marks": changed(r"[“”‘’]", "'"),
    "dashes": changed(r"[—–−]", "-"),
    "other dashes": changed(r"(?<=\w)-(?=\w)|(?<= )-(?=\d)|—", "–"),
    "lines": lambda text, rng: text.replace(" ", "\n", 2),
    "blanks": lambda text, rng: text.replace(" ", "  ").replace("  ", "\u00a0", 1),
    "ligatures": lambda text, rng: text.replace("fi", "ﬁ").replace("ff", "ﬀ"),
    "letters": changed("ﬁ", "fi"),
    "soft hyphen": lambda text, rng: text[:2] + "\u00ad" + text[2:],
    "no width": lambda text, rng: text.replace(" ", "\u200b ", 3),
    "direction marks": lambda text, rng: "\u200e" + text.replace(" ", " \u200f", 1),
    "decomposed": lambda text, rng: unicodedata.normalize("NFD", text),
    "wide digits": lambda text, rng: "".join(chr(ord(c) + 0xFEE0) if c in "0123456789" else c for c in text),
    "no mark at the end": lambda text, rng: text.rstrip(".”"),
    "comma at the end": lambda text, rng: text.rstrip(".”") + ",",
    "dots around": lambda text, rng: f"... {text.rstrip('.')} …",
    "bold": lambda text, rng: re.sub(r"\b([a-z]{4,})\b", r"**\1**", text, count=1),
    "all italic": lambda text, rng: f"*{text}*",
}

WRAPS = (
    ("straight", 'It says "{}" there.'),
    ("curly", "It says “{}”."),
    ("German", "Es heißt „{}“ dort."),
    ("turned", "Dort steht »{}«."),
    ("French", "On y lit « {} »."),
    ("Swedish", "Det står ”{}” där."),
    ("corner", "原文是「{}」。"),
    ("single", "It says ‘{}’ there."),
    ("list", '- "{}"\n- nothing else'),
    ("bold list", '1. **"{}"**\n2. nothing else'),
)


def wrapped(text, rng):
    """An answer that quotes the text in one of many styles, one that does not clash with its own marks."""
    styles = [one for one in WRAPS if not (set(one[1]) & set("“”‘’„»«\"'") & set(text))]
    if any(mark in text for mark in "“”‘’"):
        styles = [one for one in styles if one[0] not in ("curly", "single", "German", "Swedish")]
    if rng.random() < 0.15 or not styles:
        return "As written:\n> " + text.replace("\n", "\n> ") + "\n\nSo be it."
    return rng.choice(styles)[1].format(text)


def made(changes, true):
    """Every change made to every sentence that it can be made to."""
    for kind, change in changes.items():
        rng = random.Random(kind)
        for path, page, sentence in SENTENCES:
            text = change(sentence, rng)
            if text is None:
                continue
            if not true and kind not in BY_CASE and any(stands_in(text, one.text) for one in DOCUMENTS):
                continue  # the document has those words too
            yield Case(kind, wrapped(text, rng), true, path, page)


def named():
    """True quotes with the place that they have, and with others."""
    rng = random.Random("named")
    forms = ("[page {}]", "(page {})", ". [Page {}]", " (p. {})", ", as page {} says", " on page {}", " **[page {}]**")
    for path, number, sentence in SENTENCES:
        document = BY_PATH[path]
        if not document.path.endswith("pdf"):
            continue
        quote = between(sentence, rng)
        mark = document.pages[number - 1].label or str(number)
        other = rng.choice([one.label or str(one.number) for one in document.pages if one.number != number])
        file = document.path.rpartition("/")[2]
        for place, true in ((mark, True), (other, False), ("77", False)):
            yield Case("page behind", f'"{quote}"{rng.choice(forms).format(place)}', true, path, number)
            yield Case("page before", f'On page {place} it says: "{quote}".', true, path, number)
            yield Case("page above", f"[page {place}]\n> {quote}\n\nDone.", true, path, number)
            yield Case("page within", f'"{quote} [page {place}]"', true, path, number)
            yield Case("page and file", f'"{quote}" ({file}, p. {place})', true, path, number)
        first = document.pages[0].label or "1"
        yield Case("range", f'"{quote}" [pages {first}-{mark}]', True, path, number)
        yield Case("range to nowhere", f'"{quote}" [pages {mark}, 77]', False, path, number)
        yield Case("no page of that name", f'"{quote}" [page cover]', False, path, number)
        wrong = "book.pdf" if "lease" in path else "lease.pdf"
        yield Case("other file", f'"{quote}" ({wrong}, page {mark})', False, path, number)
        yield Case("other file before", f'According to {wrong}, "{quote}".', False, path, number)
        yield Case("file before", f'According to {file}, "{quote}".', True, path, number)
        yield Case("unknown file", f'"{quote}" [annex.pdf, page {mark}]', False, path, number)
        yield Case("whole path", f'"{quote}" ({path}, page {mark})', True, path, number)
        yield Case("other path", f'"{quote}" (other/{file}, page {mark})', False, path, number)
        yield Case("other document", f'"{quote}" [Document 3, page {mark}]', False, path, number)


# An answer, the document and the page that its first quote stands on; None for a quote that is not true.
CRAFTED = [
    ('"Every notice has to be given in writing" [page 1]', LEASE_PDF, 1),
    ('"Every notice has to be given in writing" [page 2]', LEASE_PDF, 2),
    ('"Every notice has to be given in writing" [page 4]', LEASE_PDF, 4),
    ('"a final section follows that runs over to the last page" [page 3]', LEASE_PDF, 3),
    ('"a final section follows that runs over to the last page" [page 4]', LEASE_PDF, 3),
    ('"a final section follows that runs over to the last page" [pages 3-4]', LEASE_PDF, 3),
    ('"a final section follows that runs [page 4] over to the last page"', LEASE_PDF, 3),
    ('"a final section follows that runs\n[page 4]\nover to the last page" [page 3]', LEASE_PDF, 3),
    ("\"The captain said: 'I shall 'never' return to Nantucket.'\" [page 3]", BOOK_PDF, 5),
    ("“The captain said: “I shall ‘never’ return to Nantucket.”” [page 3]", BOOK_PDF, 5),
    ('"The captain said: "I shall \'never\' return to Nantucket."" [page 3]', BOOK_PDF, 5),
    ("> The captain said: “I shall ‘never’ return to Nantucket.”\n> [page 3]", BOOK_PDF, 5),
    ('"This preface was written at sea" [page ii]', BOOK_PDF, 2),
    ('"This preface was written at sea" [page II]', BOOK_PDF, 2),
    ('"Moby sank eleven ships" [page 2], "The efficient officer finally found" [page 1].', BOOK_PDF, 4),
    ('On page 2 it says "Moby sank eleven ships" and on page 3 "Nobody believed the captain".', BOOK_PDF, 4),
    ('"Moby sank eleven ships" on page 2 and "Nobody believed the captain" on page 3.', BOOK_PDF, 4),
    ('[page 2] "Moby sank eleven ships"\n[page 3] "Nobody believed the captain"', BOOK_PDF, 4),
    ('"Moby sank eleven ships"\n[page 2]\n\n"Nobody believed the captain"\n[page 3]', BOOK_PDF, 4),
    ('"An agreement of this kind is a well-known form"', "note.txt", 1),
    ('"An agreement of this kind"', "note.txt", 1),
    ('"is a well-known form of co-operation"', "note.txt", 1),
    ('"Each guest pays 20 crowns a day" (note.txt, line 2)', "note.txt", 1),
    ('"Heat is never free of charge in winter"', "rules.md", 1),
    ('"**Heat** is *never* free of charge"', "rules.md", 1),
    ('"Run make install before the first use"', "rules.md", 1),
    ("> - the first rule is to ask\n> - the second rule is to listen", "rules.md", 1),
    ('"chairs of oak 12"', "table.tsv", 1),
    ('"price number chairs of oak"', "table.tsv", 1),
    ("「租户每月支付一千五百欧元，不包括取暖费用」", "zh.txt", 1),
    ("“房东应当在十四天之内修理屋顶”", "zh.txt", 1),
    ("“修理屋顶。双方以书面形式通知对方。”", "zh.txt", 1),
    ("「借主は毎月の家賃を三日までに支払う」", "ja.txt", 1),
    ("『暖房費は家賃に含まれない。』", "ja.txt", 1),
    ("> 犬を飼うことは許されている。", "ja.txt", 1),
    ('"Moby sank eleven ships" [page 4]', BOOK_PDF, 4),  # no page is labelled so, and it is the fourth
    ('"Every notice has to be given in writing" [page 3]', None, 0),
    ('"a final section follows that runs [page 3] over to the last page"', None, 0),
    ('"a final section [page 4] follows that runs over to the last page"', None, 0),
    ('"a final section follows that runs over to the last page" [page 2]', None, 0),
    ('"This preface was written at sea" [page 1]', None, 0),
    ('"This preface was written at sea" [page 2]', None, 0),
    ('"Moby sank eleven ships" [page 3]', None, 0),
    ('"Each guest pays 20 crowns a day" (note.txt, line 3)', None, 0),
    ('"Each guest pays 20 crowns a day" [page 7]', None, 0),
    ('"due on the 3rd day. The tenant must not keep"', None, 0),
    ('"due on the 3rd day ... The tenant must not keep"', None, 0),
    ('"The tenant pays ... included in this sum"', None, 0),
    ('"The landlord Alice Marten lets the flat. Heat is not included."', None, 0),
    ('"Heat is [...] included in this sum"', None, 0),
    ('"The tenant must ... keep more than two dogs"', None, 0),
    ('"500 euro a month, due on the 3rd day"', None, 0),
    ('"5 % falls due after"', None, 0),
    ('"Interest of 4" and "Interest of 4 and more"', None, 0),
    ('"The tenant pays 1"', None, 0),
    ('"refundable deposit is 3½ months of rent"', None, 0),
    ('"½ months of rent"', None, 0),
    ('"3 weeks of delay. The"', None, 0),
    ('"The non-refundable deposit is 3"', None, 0),
    ('"a rate of 2. The office of the agent"', None, 0),
    ('"shared, at a rate of 2"', None, 0),
    ('"The lessee does"', None, 0),
    ('"The lessee doesn"', None, 0),
    ('"250 litres of water"', None, 0),
    ('"for the first 1"', None, 0),
    ('"6 euro are shared, at a rate"', None, 0),
    ('"⁶ euro are shared, at a rate"', None, 0),
    ('"was signed in Paragraph IVa and a final section"', None, 0),
    ('"1995 by a factor of 1/3"', None, 0),
    ('"It grew from 1990"', None, 0),
    ('"grew by a factor of 1"', None, 0),
    ('"5 °C were measured at 6:30"', None, 0),
    ('"30 in the morning. The bank"', None, 0),
    ('"Temperatures of -5"', None, 0),
    ('"The bank owns 65"', None, 0),
    ('"4 million in cash"', None, 0),
    ('"65 houses and $4 million"', None, 0),
    ('"The bank owns 65+ houses and $4"', None, 0),
    ('"was known form of co-operation"', None, 0),
    ('"known form of co-operation"', None, 0),
    ('"operation. Temperatures of -5 °C"', None, 0),
    ('"well-known form of co"', None, 0),
    ('"the yearly report of the may"', None, 0),
    ("“The oaken board is 5”", None, 0),
    ("“The oaken board is 5' wide”", None, 0),
    ("“A mean length of 7 x”", None, 0),
    ("“A mean length of 7 x was found”", None, 0),
    ('"chairs of oak 12 500 tables"', None, 0),
    ('"chairs of oak 12500"', None, 0),
    ('"chairs of oak 7 250"', None, 0),
    ("「租户每月支付一千五百欧元，包括取暖费用」", None, 0),
    ("「五百欧元,不包括取暖费用」", None, 0),
    ("「百欧元,不包括取暖费用」", None, 0),
    ("「包括取暖费用。房东应当在」", None, 0),
    ("「租户每月支付一千」", None, 0),
    ("「租户每月支付一千六百欧元,不包括取暖费用」", None, 0),
    ("「房东每月支付一千五百欧元,不包括取暖费用」", None, 0),
    ("「暖房費は家賃に含まれ」", None, 0),
    ("「暖房費は家賃に含まれる。」", None, 0),
    ("「借主は毎月の家賃を三日までに支払わない」", None, 0),
    ('"does the tenant pay for heat in this flat?"', None, 0),
    ('"Document 1: lease.pdf"', None, 0),
    ('"Answer the question only from the documents above"', None, 0),
    ('"the tenant"', None, 0),
    ('"Alice Marten"', None, 0),
    ("“Die Mieterin trinkt Bier in Massen und zahlt keine Heizung.”", None, 0),
    ('"The tenant said "Heat is included" and left"', None, 0),
    ("> The landlord repairs the roof within 14 days\n> of the house", None, 0),
    ('"a final section follows that runs\x0c\x0cinto the sea"', None, 0),
    ('"~~Heat~~ is included in this sum"', None, 0),
    ('"The landlord Boris Kant lets the flat to Alice Marten."', None, 0),
]


def crafted():
    for answer, document, page in CRAFTED:
        path = document if isinstance(document, str) else document.path if document else ""
        path = path if not path or "/" in path else f"docs/{path}"
        yield Case("crafted", answer, document is not None, path, page)


CASES = (*made(TRUE, True), *made(FALSE, False), *named(), *crafted())


@pytest.fixture(scope="module")
def answers():
    """Every case with what became of its quotes."""
    return [(case, cite(case.answer, DOCUMENTS)) for case in CASES]


def told(case, citations):
    return f"{case.kind}: {case.answer!r} -> {[(one.status.value, one.quote, one.source) for one in citations]}"


def test_there_are_enough_answers_of_every_kind():
    counts = Counter(case.kind for case in CASES)
    assert set(TRUE) | set(FALSE) <= set(counts)
    assert sum(case.true for case in CASES) >= 500
    assert sum(not case.true for case in CASES) >= 500


def test_nothing_false_is_verified(answers):
    wrong = [(case, found) for case, found in answers if any(one.status is Status.VERIFIED for one in found)]
    assert [told(case, found) for case, found in wrong if not case.true] == []


def test_true_quotes_are_verified_where_they_stand(answers):
    missed = []
    for case, citations in answers:
        if not case.true:
            continue
        if not citations or any(one.status is not Status.VERIFIED for one in citations):
            missed.append(told(case, citations))
            continue
        place = (citations[0].path, citations[0].place.page)
        assert place == (case.path, case.page), told(case, citations)
    assert len(missed) <= 0.02 * sum(case.true for case in CASES), missed


PLACE_WITHIN = re.compile(r"\s*[\[(](?:\w+\.\w+, )?(?:page|p\.) \w+[\])]\s*")


def test_every_verified_mark_opens_at_its_words(answers):
    marks = [(case, one) for case, found in answers for one in found if one.status is Status.VERIFIED]
    for case, citation in marks:
        text, line = opened(citation)
        assert stands_in(PLACE_WITHIN.sub(" ", citation.quote), text), told(case, [citation])
        first_words = " ".join(citation.source.split()[:2])
        assert flattened(text).find(flattened(first_words)) < len(flattened(line)), told(case, [citation])
    assert len(marks) >= 500


HARD = re.compile(
    r"[\d½⅓⁶%‰°$€+٠-٩]|n['’]t\b|\b(?:not|never|no|keine|nobody|kg|mg|KG|mW|MW|euro|Euro|crowns|dollar)\b", re.IGNORECASE
)
NAMES = re.compile(r"\b(?:Alice|Marten|Boris|Kant|Rosalind|Moby|Groß|Nantucket|Charles)\w*")
LEFT_OUT = re.compile(r"\.\.\.|…")


def test_repairs_show_the_documents_own_words_and_change_no_number_negation_or_name(answers):
    repaired = [(case, one) for case, found in answers for one in found if one.status is Status.REPAIRED]
    for case, citation in repaired:
        text, _ = opened(citation)
        assert citation.source in " ".join(text.split()), told(case, [citation])
        if LEFT_OUT.search(citation.quote.strip("… .")):
            continue  # on purpose, and shown
        quote = PLACE_WITHIN.sub(" ", citation.quote)
        for pattern in (HARD, NAMES):
            mine, theirs = (pattern.findall(unicodedata.normalize("NFC", one)) for one in (quote, citation.source))
            assert [flattened(one) for one in mine] == [flattened(one) for one in theirs], told(case, [citation])
    assert len(repaired) >= 50


def test_what_differs_is_in_the_line_for_the_user(answers):
    """Also of a long quote: the line shows the words around the first difference."""
    long = (
        "The landlord repairs the roof within 14 days of a written notice. “Ordinary wear” is nobody’s fault. Interest"
    )
    (citation,) = cite(f">{long.replace('fault', 'faults')}", DOCUMENTS)
    assert citation.status is Status.REPAIRED
    quote, source = re.fullmatch(
        r'repaired: "(.*)" stands as "(.*)" \(docs/lease.pdf, page 2, line 1\)', citation.told()
    ).groups()
    assert "faults" in quote
    assert "fault" in source
    assert "faults" not in source
    elsewhere = [one for _, found in answers for one in found if "stands elsewhere" in one.told()]
    assert elsewhere
    assert all(stands_in(PLACE_WITHIN.sub(" ", one.quote), one.source) for one in elsewhere)


@pytest.mark.parametrize("seed", range(4))
def test_free_quotes_are_judged_by_the_oracle(seed):
    """Words of the documents cut anywhere, random characters changed: verified only where the oracle finds them."""
    rng = random.Random(seed)
    spoils = [
        "",
        " ",
        "-",
        ".",
        ",",
        "'",
        "’",
        "²",
        "½",
        "%",
        "0",
        "1",
        "é",
        "\u0301",
        "\u0430",
        "not ",
        "un",
        "n't",
        "…",
    ]
    verified = 0
    for _ in range(150):
        document = rng.choice(DOCUMENTS[:5])
        text = document.text
        cuts = [match.start() + 1 for match in re.finditer(r"\s", text)] if rng.random() < 0.7 else range(len(text))
        start = rng.choice(cuts)
        least = start + rng.randrange(24, 90)
        quote = text[start : next((one for one in cuts if one > least), None)]
        if rng.random() < 0.6:
            at = rng.randrange(len(quote) + 1)
            quote = quote[:at] + rng.choice(spoils) + quote[at + rng.randrange(2) :]
        if re.search(r"[\"“”]", quote) or not quote.strip():
            continue
        for citation in cite(f"“{quote}”", DOCUMENTS):
            if citation.status is Status.VERIFIED:
                verified += 1
                assert stands_in(quote, BY_PATH[citation.path].text), repr(quote)
    assert verified >= 5
