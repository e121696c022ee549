"""The words that invented samples are made of. To change a list is to change the samples of every seed."""

from __future__ import annotations


def _listed(words: str) -> tuple[str, ...]:
    return tuple(words.split())


FIRST_NAMES = _listed(
    """
    Adela Anton Beata Bruno Clara Corin Delia Dorian Edda Emil Farah Felix Greta Gustav Hanna Hugo Ilse Ivan Jana
    Jonas Kaja Konrad Lena Linus Marta Milo Nadia Nils Oda Oskar Petra Quentin Rosa Rufus Selma Simon Thea Tobias
    Ulla Urban Vera Viktor Wanda Wilhelm Xenia Yorick Zelda Zeno
    """
)
NAME_BEGINNINGS = _listed(
    """
    Bar Bel Cal Dor Fen Gal Har Hol Jor Kal Lam Lor Mar Mer Nor Or Pel Quil Ras Sel Tam Tor Ul Ver Wes Zan
    """
)
SURNAME_ENDS = _listed(
    """
    bank berg dale feld gren holm kamp lund mark stein strand vik
    """
)
TOWN_ENDS = _listed(
    """
    bridge burg chester field ford gate haven minster mouth port stead wick
    """
)
TRADES = _listed(
    """
    baker bookbinder botanist bridge-builder carpenter cartographer chemist clockmaker composer dentist doctor
    gardener glassblower judge librarian locksmith mason midwife miller painter pharmacist pilot potter printer
    sailor saddler shepherd surveyor tailor teacher translator watchmaker
    """
)
INSTRUMENTS = _listed(
    """
    accordion banjo bassoon cello clarinet cornet drum dulcimer fiddle flute guitar harp horn lute mandolin oboe
    organ piano piccolo trombone trumpet tuba viola zither
    """
)
COLLECTED = _listed(
    """
    beetles bells buttons butterflies coins combs compasses dolls engravings feathers fossils globes keys lamps maps
    masks medals mushrooms pebbles pipes postcards ribbons seashells stamps teapots thimbles violins
    """
)
KINDS = _listed(
    """
    amber brisk calm copper crimson dusty eager faint gentle golden hollow icy ivory jolly keen lively lucky marble
    mellow misty noble olive pale patient plain proud quiet rapid rugged rusty scarlet shady sharp silent silver
    sleepy smooth solid steady stormy sunny swift tidy velvet violet warm wild young
    """
)
THINGS = _listed(
    """
    anchor badger barrel beacon bridge candle canyon castle comet cricket dolphin falcon feather fiddle forest
    garden glacier hammer harbor heron island kettle ladder lantern lizard maple meadow mirror mountain needle otter
    paddle parrot pebble pepper pillow planet rabbit ribbon river saddle sparrow thunder tiger tunnel turtle walnut
    window
    """
)
