"""Which encoding a text without a declaration is read in, and what is told of it."""
# ruff: noqa: RUF001 - letters of many scripts are the matter here

from __future__ import annotations

import pytest

from spsl_cli.documents.encoding import decode, wide
from spsl_cli.documents.unsupported import is_binary

TEXTS = {
    "Russian": (
        "Паром отходит в девять часов утра и возвращается до захода солнца. Билет стоит четыре кроны, а для детей "
        "проезд бесплатный. Если ветер слишком сильный, капитан остаётся в гавани и ждёт хорошей погоды. На острове "
        "есть маяк, две гостиницы и небольшая библиотека, где хранятся старые морские карты.\n"
    ),
    "Ukrainian": (
        "Пором відходить о дев'ятій годині ранку і повертається до заходу сонця. Квиток коштує чотири крони, а діти "
        "їдуть безкоштовно. Якщо вітер надто сильний, капітан чекає в гавані на гарну погоду. На острові є маяк, дві "
        "гостинці та невелика бібліотека, де зберігають старі морські мапи.\n"
    ),
    "Greek": (
        "Το πλοίο φεύγει στις εννέα το πρωί και γυρίζει πριν από τη δύση του ήλιου. Το εισιτήριο κοστίζει τέσσερις "
        "κορώνες και τα παιδιά ταξιδεύουν δωρεάν. Όταν ο άνεμος είναι πολύ δυνατός, ο καπετάνιος μένει στο λιμάνι.\n"
    ),
    "Hebrew": (
        "המעבורת יוצאת בתשע בבוקר וחוזרת לפני השקיעה. הכרטיס עולה ארבעה כתרים וילדים נוסעים חינם. כאשר הרוח חזקה מדי "
        "רב החובל נשאר בנמל ומחכה למזג אוויר טוב. באי יש מגדלור, שני בתי מלון וספרייה קטנה עם מפות ים ישנות.\n"
    ),
    "Arabic": (
        "تغادر العبارة في التاسعة صباحا وتعود قبل غروب الشمس. ثمن التذكرة أربعة كرونات والأطفال يسافرون مجانا. عندما "
        "تكون الرياح قوية جدا يبقى القبطان في الميناء وينتظر الطقس الجيد. في الجزيرة منارة وفندقان ومكتبة صغيرة.\n"
    ),
    "Thai": (
        "เรือข้ามฟากออกเวลาเก้าโมงเช้าและกลับก่อนพระอาทิตย์ตก ตั๋วราคาสี่คราวน์และเด็กเดินทางฟรี เมื่อลมแรงเกินไปกัปตันจะอยู่ในท่าเรือ"
        "และรออากาศดี บนเกาะมีประภาคาร โรงแรมสองแห่ง และห้องสมุดเล็ก ๆ ที่เก็บแผนที่ทะเลเก่าไว้\n"
    ),
    "Japanese": (
        "渡し船は朝九時に出発し、日が沈む前に戻ってきます。切符は四クローネで、子供は無料です。風が強すぎるとき、船長は港にとどまり、"
        "天気がよくなるのを待ちます。島には灯台と二軒の宿、そして古い海図を集めた小さな図書館があります。\n"
    ),
    "Korean": (
        "나룻배는 아침 아홉 시에 떠나서 해가 지기 전에 돌아옵니다. 표는 네 크로네이고 아이들은 무료입니다. "
        "바람이 너무 세면 선장은 항구에 머물며 날씨가 좋아지기를 기다립니다. "
        "섬에는 등대와 여관 두 곳, 그리고 작은 도서관이 있습니다.\n"
    ),
    "Chinese": (
        "渡船早上九点出发，日落之前回来。船票四个克朗，儿童免费。如果风太大，船长就留在港口等待好天气。岛上有一座灯塔、两家旅馆和一个"
        "小图书馆，里面保存着许多旧的海图。我们在那里住了三天，看到了很多鸟，也认识了几个渔民。\n"
    ),
    "Taiwanese": (
        "渡船早上九點出發，日落之前回來。船票四個克朗，兒童免費。如果風太大，船長就留在港口等待好天氣。島上有一座燈塔、兩家旅館和一個"
        "小圖書館，裡面保存著許多舊的海圖。我們在那裡住了三天，看到了很多鳥，也認識了幾個漁民。\n"
    ),
    "Polish": (
        "Prom odpływa o dziewiątej rano i wraca przed zachodem słońca. Bilet kosztuje cztery złote, a dzieci jadą za "
        "darmo. Gdy wiatr jest zbyt silny, kapitan zostaje w porcie i czeka na lepszą pogodę. Żółw śpi też gdzieś.\n"
    ),
    "Czech": (
        "Převoz odjíždí v devět hodin ráno a vrací se před západem slunce. Lístek stojí čtyři koruny a děti jedou "
        "zdarma. Když je vítr příliš silný, kapitán zůstane v přístavu a čeká na lepší počasí.\n"
    ),
    "Hungarian": (
        "A komp reggel kilenckor indul és naplemente előtt tér vissza. A jegy négy koronába kerül, a gyerekek ingyen "
        "utaznak. Ha túl erős a szél, a kapitány a kikötőben marad és jobb időre vár. A szigeten könyvtár is működik.\n"
    ),
    "Romanian": (
        "Bacul pleacă la ora nouă dimineaţa şi se întoarce înainte de apus. Biletul costă patru coroane, iar copiii "
        "călătoresc fără plată. Când vântul este prea puternic, căpitanul rămâne în port şi aşteaptă vreme bună.\n"
    ),
    "Turkish": (
        "Vapur sabah dokuzda kalkıyor ve güneş batmadan önce dönüyor. Bilet dört kron, çocuklar için ücretsiz. Rüzgâr "
        "çok güçlü olduğunda kaptan limanda kalıyor ve havanın düzelmesini bekliyor. İstanbul'dan gelenler çok.\n"
    ),
    "Lithuanian": (
        "Keltas išplaukia devintą valandą ryto ir grįžta prieš saulėlydį. Bilietas kainuoja keturias kronas, vaikams "
        "nemokamai. Kai vėjas per stiprus, kapitonas lieka uoste ir laukia gražesnio oro. Žiūrėk, ąžuolai čia įaugę.\n"
    ),
}
WESTERN = {
    "French": "Le bac part à neuf heures et revient « avant la nuit ». L’été, l’île plaît à ce garçon. Où es-tu ?\n",
    "German": "Die Fähre legt um neun Uhr ab. „Größere Gepäckstücke“ kosten extra; für Kinder ist sie frei.\n",
    "Spanish": "El transbordador sale a las nueve de la mañana. ¿Cuánto cuesta? Los niños van gratis según él.\n",
    "Portuguese": "A balsa parte às nove da manhã. As crianças não pagam; o capitão espera até a estação das águas.\n",
    "Swedish": "Färjan går klockan nio på morgonen och kommer åter före solnedgången. Barn åker gratis över sjön.\n",
    "Danish": "Færgen sejler klokken ni og kommer tilbage før solnedgang. Børn rejser gratis på øen, også i år.\n",
    "Icelandic": "Ferjan fer klukkan níu að morgni og kemur aftur fyrir sólsetur. Þegar hvasst er bíður hún í höfn.\n",
    "Finnish": "Lautta lähtee yhdeksältä aamulla ja palaa ennen yötä. Lapset pääsevät ilmaiseksi, jos sää on hyvä.\n",
    "Two of them": "Die Fähre heißt « Été à l’île », sagt der Kapitän; größere Stücke sind gratis, même à Noël.\n",
}
ENCODINGS = {
    "Russian": ("cp1251", "koi8_r", "iso8859_5", "cp866"),
    "Ukrainian": ("cp1251", "koi8_u"),
    "Greek": ("cp1253", "iso8859_7"),
    "Hebrew": ("cp1255",),
    "Arabic": ("cp1256",),
    "Thai": ("cp874",),
    "Japanese": ("cp932", "euc_jp"),
    "Korean": ("cp949",),
    "Chinese": ("gb18030",),
    "Taiwanese": ("big5",),
    "Polish": ("iso8859_2", "cp1250"),
    "Czech": ("iso8859_2", "cp1250"),
    "Hungarian": ("iso8859_2", "cp1250"),
    "Romanian": ("cp1250",),
    "Turkish": ("cp1254",),
    "Lithuanian": ("cp1257",),
}
CASES = [(language, encoding) for language, encodings in ENCODINGS.items() for encoding in encodings]
ENGLISH = "The ferry goes at nine, and a ticket costs four crowns. "


def long(text: str) -> str:
    """So often that there is enough beyond ASCII to judge by."""
    beyond = sum(not sign.isascii() for sign in text)
    return text * (700 // beyond + 1)


@pytest.mark.parametrize(("language", "encoding"), CASES)
def test_a_long_text_in_an_old_encoding_is_recognised_and_told(language, encoding):
    text = long(TEXTS[language])
    decoded = decode(text.encode(encoding))
    assert decoded.text == text
    assert decoded.warnings[0].startswith(f"not UTF-8: read as {decoded.encoding}, judged by its letters")


@pytest.mark.parametrize(("language", "encoding"), CASES)
def test_its_place_in_the_text_does_not_matter(language, encoding):
    text = ENGLISH * 5000 + long(TEXTS[language])
    assert decode(text.encode(encoding)).text == text
    text = long(TEXTS[language]) + ENGLISH * 5000
    assert decode(text.encode(encoding)).text == text


@pytest.mark.parametrize("language", WESTERN)
@pytest.mark.parametrize("repeats", [1, 200])
def test_western_languages_are_read_as_windows_1252(language, repeats):
    text = WESTERN[language] * repeats
    decoded = decode(text.encode("cp1252"))
    assert (decoded.text, decoded.encoding) == (text, "cp1252")
    assert len(decoded.warnings) == 1


@pytest.mark.parametrize("encoding", ["mac_roman", "cp850", "cp437"])
def test_western_languages_in_other_encodings_are_not_taken_for_other_scripts(encoding):
    for language in ("French", "German", "Spanish"):
        text = (WESTERN[language] * 100).encode(encoding, "ignore")
        assert decode(text).encoding == "cp1252"


def test_a_short_text_says_too_little():
    decoded = decode("Žluťoučký kůň".encode("cp1250"))
    assert decoded.encoding == "cp1252"
    assert "may be wrong" in decoded.warnings[0]


def test_the_same_bytes_are_always_read_the_same():
    data = long(TEXTS["Russian"]).encode("koi8_r")
    assert len({decode(data) for _ in range(5)}) == 1


@pytest.mark.parametrize(("language", "encoding"), [("Russian", "koi8_r"), ("Japanese", "cp932"), ("Polish", "cp1250")])
def test_little_damage_does_not_change_the_encoding(language, encoding):
    data = (TEXTS[language] * 100).encode(encoding)
    decoded = decode(data + b"\n\xff\x81\x98\n" + data)
    assert TEXTS[language] * 100 in decoded.text
    assert decoded.encoding in {encoding, "iso8859_2"}


def test_one_long_line_of_wide_characters():
    text = "".join(sign for sign in TEXTS["Chinese"] if sign not in "，。、\n") * 3000
    for start in ("", "a", "ab"):
        decoded = decode((start + text).encode("gb18030"))
        assert (decoded.encoding, decoded.text) == ("gb18030", start + text)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("language", [*TEXTS, *WESTERN])
def test_utf16_without_a_mark(language, encoding):
    text = {**TEXTS, **WESTERN}[language] * 3
    if language in {"Japanese", "Chinese", "Taiwanese"}:
        text = (text + "「一」\u3000一一、１２３。\n") * 5  # zero bytes at the other place, too
    decoded = decode(text.encode(encoding))
    assert (decoded.text, decoded.encoding, decoded.warnings) == (text, encoding, ())


def test_utf16_of_a_few_words():
    assert decode("One line.\r\n".encode("utf-16-le")).text == "One line.\n"
    assert wide(ENGLISH.encode("utf-16-be")) == "utf-16-be"


def test_utf16_cut_within_a_character():
    decoded = decode((ENGLISH * 10).encode("utf-16-le")[:-1])
    assert decoded.text == (ENGLISH * 10)[:-1] + "\ufffd"
    assert decoded.warnings == ("1 character unreadable, shown as U+FFFD",)


def test_the_end_counts_for_utf16_too():
    text = (ENGLISH * 5000).encode("utf-16-le")
    assert wide(text + bytes(range(256)) * 200) is None
    assert wide(b"\1\0" * 20_000 + text) is None


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"plain",
        b"plain with a \0 in it",
        b"a\0b\0\0c\0\0d",
        bytes(range(256)) * 8,
        b"".join(number.to_bytes(2, "little") for number in range(300)),
        b"".join((number * 7919 % 65536).to_bytes(2, "big") for number in range(5000)),
        b"".join((number % 25).to_bytes(4, "little") for number in range(5000)),
        b"\x7fELF\2\1\1\0\0\0\0\0\0\0\0\0\3\0>\0\1\0\0\0",
    ],
)
def test_other_zero_bytes_are_not_utf16(data):
    assert wide(data) is None


def test_utf8_stays_utf8_whatever_else_is_in_it():
    text = "Überfälle, Möwen, Krüge, Bögen und Öl. " * 5
    decoded = decode(text.encode() + "Fähre".encode("cp1252") + text.encode())
    assert (decoded.encoding, decoded.text) == ("utf-8", f"{text}F\ufffdhre{text}")
    assert decoded.warnings == ("1 character unreadable, shown as U+FFFD",)


@pytest.mark.parametrize("cut", [1, 2, 3])
def test_utf8_cut_within_its_last_character(cut):
    decoded = decode("Größe 🌊".encode()[:-cut])
    assert (decoded.encoding, decoded.text) == ("utf-8", "Größe \ufffd")


def test_the_last_byte_decides():
    plain = (ENGLISH * 20_000).encode()
    assert decode(plain).encoding == "utf-8"
    assert decode(plain + b"\xe9").encoding == "cp1252"
    assert decode(plain + "é".encode()).encoding == "utf-8"


def test_what_looks_like_ascii_is_never_taken_for_more():
    japanese = TEXTS["Japanese"].encode("iso2022_jp")
    decoded = decode(japanese)
    assert (decoded.encoding, decoded.text) == ("utf-8", japanese.decode("ascii"))
    assert "ISO-2022" in decoded.warnings[0]
    hidden = "+ADw-script+AD4-"
    assert decode(hidden.encode()) == decode(hidden.encode())
    assert (decode(hidden.encode()).text, decode(hidden.encode()).warnings) == (hidden, ())
    assert decode(b"\x1b[31mred\x1b[0m $B").warnings == ()


def test_a_mark_of_gb18030():
    decoded = decode(b"\x84\x31\x95\x33" + TEXTS["Chinese"].encode("gb18030"))
    assert (decoded.encoding, decoded.text, decoded.warnings) == ("gb18030", TEXTS["Chinese"], ())


@pytest.mark.parametrize("unit", ["HOME=/root\0PATH=/usr/bin\0", "a.txt\0bc.txt\0", "naïve.txt\0x\0", "abc\0"])
@pytest.mark.parametrize("times", [10, 2_000])
def test_names_between_zero_bytes_are_binary(unit, times):
    data = (unit * times).encode()
    assert wide(data) is None
    assert is_binary(data)


def test_the_advice_for_an_old_encoding():
    for text, codec in (("Съешь ещё этих булок", "cp1251"), (TEXTS["Russian"] * 20, "koi8_r")):
        assert decode(text.encode(codec)).warnings[0].endswith("; if they are, convert it to UTF-8 first")
