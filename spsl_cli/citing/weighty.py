"""Words that carry more than others: numbers, negations, and what bounds a statement.

A list, so it is never complete. It decides what is *not* taken for a slip of the pen; words that it lacks may be
shown as repaired with the document's own beside them, but are never verified.
"""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NUMBER_WORDS = _words(
    """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred hundreds thousand thousands million
    millions billion billions trillion trillions dozen dozens percent permille half halves third thirds quarter quarters
    double triple once twice thrice first second fourth fifth sixth seventh eighth ninth tenth
    null eins ein eine einen einem einer zwei drei vier fünf sechs sieben acht neun zehn elf zwölf zwanzig dreißig
    vierzig fünfzig hundert tausend million millionen milliarde milliarden mio mrd prozent promille halb hälfte drittel
    zéro deux trois quatre cinq sept huit neuf dix onze douze vingt trente quarante cinquante cent mille milliard
    milliards demi moitié tiers
    cero dos tres cuatro cinco seis siete ocho nueve diez veinte treinta ciento mil millones medio mitad
    due tre quattro cinque sei sette otto nove dieci venti cento mila milione milioni miliardo miliardi metà
    один два три четыре пять шесть семь восемь девять десять сто тысяча тысяч миллион миллионов половина
    """
)

SCALES = _words(
    """
    hundred thousand million billion trillion dozen half percent percentage permille hundert tausend
    millionen milliarden mio mrd prozent promille mille million millions milliards mil millones
    mila milioni миллионов тысяч процентов k m bn
    """
)
"""Those that belong to the figures before them: 5 million."""

NEGATIONS = _words(
    """
    no not never none nor neither nobody nothing nowhere without cannot non un hardly scarcely barely rarely seldom
    fails failed fail refuses refused refuse lacks lack denies denied false
    nicht kein keine keinen keinem keiner keines nie niemals niemand nichts ohne weder
    ne pas jamais aucun aucune sans rien personne ni
    nunca jamás ningún ninguna ninguno sin nada nadie tampoco
    mai nessun nessuna nessuno senza niente nulla né
    não nenhum nenhuma sem
    не ни нет без никогда никто ничего
    لا لم لن ليس ليست غير بدون ما
    לא אין בלי אל
    """
)

BOUNDS = _words(
    """
    only all any some every each most many few several both either least more less fewer than unless except excluding
    including until before after if may might must shall should can could always sometimes partly almost nearly about
    and or but over under above below up down
    nur alle jede jeder jedes einige manche meist mindestens höchstens mehr weniger außer bis vor nach wenn darf
    muss soll kann immer etwa und oder aber über unter
    seulement tout tous toute toutes chaque plus moins sauf avant après si peut doit toujours et ou mais
    sólo solo todo todos toda todas cada más menos salvo excepto antes después puede debe siempre y o pero
    """
)

NEGATING_CHARACTERS = frozenset("不非未无無没沒勿莫別别ぬ")
