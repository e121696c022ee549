"""The positions an answer attended to: computed exactly, nothing of the run changed, and they point at the passage.

The long run (`-m slow`) asks the embedded model for facts scattered over short documents of our own, each in words of
the sentence and in other words, and counts how often the sentence is among the passages, where the answer is right. How
weights are made was chosen by the figures of every other theme, from the first on; those between are the measure.
"""

from __future__ import annotations

import random
import textwrap
from collections import Counter
from dataclasses import dataclass, field

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, MistralConfig, MistralForCausalLM

from spsl_cli.citing.passages import looked_at
from spsl_cli.decoding import attribution as attribution_module
from spsl_cli.decoding.attribution import attribution
from spsl_cli.decoding.config import DecodeConfig
from spsl_cli.decoding.decoder import SparseSpecDecoder
from spsl_cli.documents import Document, Page
from spsl_cli.models import embedded_model_path
from spsl_cli.prompting.layout import build_prompt
from spsl_cli.prompting.offsets import token_offsets
from tests.models import random_prompt, tiny_model

SINCE = 70
SPANS = [(6, 40), (45, 68)]


def looking_far(family="llama"):
    """A tiny model whose attention is spread, not all on the last few positions."""
    model = tiny_model(family)
    for name, parameter in model.named_parameters():
        if "q_proj" in name or "q_norm" in name:
            parameter.mul_(0.4)
    return model


def decoded_run(model, prompt, *, new=21, **config):
    run = SparseSpecDecoder(model, DecodeConfig(**config)).prepare(prompt, max_new_tokens=new)
    list(run.prefill())
    list(run.decode())
    return run


def expected(model, prompt, answer):
    """By the model's own attention probabilities, from one forward over prompt and answer."""
    model.set_attn_implementation("eager")
    with torch.inference_mode():
        maps = model(torch.tensor([prompt + answer[:-1]]), output_attentions=True).attentions
    mass = torch.stack(maps).sum((0, 1, 2))  # [query, key]
    last = len(prompt) - 1
    inside = torch.zeros(mass.shape[1])
    for start, end in SPANS:
        inside[start:end] = 1
    given, drawn = (rows.sum(0) * inside for rows in (mass[last:], mass[SINCE : min(SINCE + 16, last)]))
    return (given / given.sum() - drawn / drawn.sum())[: len(prompt)].clamp_min(0)


@pytest.mark.parametrize(
    "how", [{"speculation": False}, {"k": 4}, {"controller": "entropy", "index": "vegas"}], ids=str
)
@pytest.mark.parametrize("family", ["llama", "qwen3"])
def test_weights_are_those_of_the_models_own_attention(family, how):
    model, prompt = looking_far(family), random_prompt(110)
    run = decoded_run(model, prompt, **how)
    answer = list(run.output.token_ids)
    weights = attribution(run, answer, SPANS, SINCE)
    assert (weights.shape, weights.dtype, weights.device.type) == ((110,), torch.float32, "cpu")
    torch.testing.assert_close(weights, expected(model, prompt, answer), atol=1e-5, rtol=1e-3)
    assert weights.max() > 0.001


def test_without_native_mass_they_are_the_same(monkeypatch):
    model, prompt = looking_far(), random_prompt(90)
    run = decoded_run(model, prompt, k=2)
    answer = list(run.output.token_ids)
    native = attribution(run, answer, SPANS, SINCE)
    monkeypatch.setattr("spsl_cli.decoding.attend.kernels.suits", lambda *_, **__: False)
    torch.testing.assert_close(attribution(run, answer, SPANS, SINCE), native, atol=1e-5, rtol=1e-3)


@pytest.mark.parametrize("how", [{"speculation": False}, {"k": 4}], ids=str)
def test_nothing_of_the_run_changes(how):
    model, prompt = tiny_model(), random_prompt(110)
    run = decoded_run(model, prompt, **how)
    outputs, answer, stats = run.outputs, list(run.output.token_ids), run.stats()
    before = [[store[0, :, :110].clone() for store in layer.dense] for layer in run.cache.layers]
    attribution(run, answer, SPANS, SINCE)
    assert run.outputs is outputs
    assert (run.output.token_ids, run.stats(), run.cache.lengths) == (answer, stats, [110])
    for layer, stores in zip(run.cache.layers, before, strict=True):
        for store, rows in zip(layer.dense, stores, strict=True):
            assert torch.equal(store[0, :, :110], rows)
        assert not layer.kept
    run.rewind()
    list(run.decode())
    assert run.output.token_ids == answer


def test_a_failed_pass_leaves_the_run_as_it_was(monkeypatch):
    model, prompt = tiny_model(), random_prompt(100)
    run = decoded_run(model, prompt, k=4)
    answer, key = list(run.output.token_ids), run.cache.layers[0].dense.keys[0, :, :100].clone()

    def fail(*_, **__):
        raise MemoryError

    monkeypatch.setattr(attribution_module, "mass_of", fail)
    with pytest.raises(MemoryError):
        attribution(run, answer, SPANS, SINCE)
    assert run.output.token_ids == answer
    assert torch.equal(run.cache.layers[0].dense.keys[0, :, :100], key)
    run.rewind()
    list(run.decode())
    assert run.output.token_ids == answer


def test_layers_with_windows_tell_nothing():
    sizes = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = MistralConfig(vocab_size=61, num_key_value_heads=2, sliding_window=20, **sizes)
    run = decoded_run(MistralForCausalLM(config).eval(), random_prompt(100), speculation=False)
    assert not attribution(run, run.output.token_ids, SPANS, SINCE).any()


@pytest.mark.parametrize(("answer", "since"), [([], SINCE), ([1] * 22, SINCE), ([1], 0), ([1], 89), ([1], 90)])
def test_what_makes_no_sense_is_refused(answer, since):
    run = decoded_run(tiny_model(), random_prompt(90), speculation=False)
    with pytest.raises(ValueError, match=r"request cannot begin|was not decoded by a run"):
        attribution(run, answer, SPANS, since)


def test_before_the_prefill_there_is_nothing_to_look_at():
    run = SparseSpecDecoder(tiny_model()).prepare(random_prompt(90), max_new_tokens=4)
    with pytest.raises(RuntimeError, match="not in the cache yet"):
        attribution(run, [1, 2], SPANS, SINCE)


# ---- the embedded model --------------------------------------------------------------------------------------------

TEXTS = """
# harbour
The old lighthouse at Brannock Point was painted green in 1931.
? What colour was the old lighthouse at Brannock Point painted?
? Which paint was used on the old tower with the lamp in 1931?
= green
Captain Ilse Vorn commands the pilot boat Halibut.
? Who commands the pilot boat Halibut?
? Who is in charge of the Halibut?
= Vorn
The harbour office closes at half past four on Fridays.
? When does the harbour office close on Fridays?
? Until what time can I reach the port administration at the end of the working week?
= half past four
Berth nine is reserved for vessels that carry timber.
? Which vessels is berth nine reserved for?
? Where should a ship with a load of wood moor, and what is that place kept for?
= timber
The deepest part of the channel measures seventeen metres.
? How deep is the deepest part of the channel?
? What is the maximum depth of the waterway?
= seventeen
Fresh water for ships comes from the spring at Lower Tarn.
? Where does the fresh water for ships come from?
? Which source supplies drinking water to ships?
= Tarn
- The harbour lies on the northern side of the bay and has been in use for two centuries.
- In winter the wind often turns to the east, and small boats stay inside the breakwater.
- Two cranes stand on the long quay; both were overhauled last spring.
- Visitors may walk along the pier, but they must keep clear of the ropes.
- The fishing fleet has become smaller, while the number of yachts has grown every year.
- A new fuel station was opened next to the customs house, and the old tanks were removed.
- Notices to mariners are pinned to the board beside the entrance of the main building.
- The tide tables are printed by the port authority and sold in the shop on the square.
# library
The town library holds a map of the valley drawn by Jonas Pell.
? Who drew the map of the valley that the town library holds?
? Whose drawing of the valley is kept among the books?
= Pell
Readers may borrow at most eleven books at one time.
? How many books may readers borrow at most at one time?
? What is the limit on books taken home together?
= eleven
The reading room is heated by a stove that was made in Norway.
? Where was the stove that heats the reading room made?
? From which country is the stove?
= Norway
A lost library card costs three euros to replace.
? How much does it cost to replace a lost library card?
? What must I pay for a new card if mine is gone?
= three
The music collection was given to the library by the widow of a violinist.
? Who gave the music collection to the library?
? Who donated the scores and records?
= widow
The oldest book on the shelves is a treatise about bees.
? What is the oldest book on the shelves about?
? Which insects does the most ancient volume describe?
= bees
- The building was a grain store before the shelves were put in, and the beams are still there.
- Children come on Wednesday afternoons, when a story is read aloud in the small hall.
- Newspapers are kept for a year and are then sent to the archive of the county.
- The catalogue was typed on cards until the computers arrived.
- Students from the college use the tables by the window, where the light is best.
- Volunteers mend torn pages and broken spines in the workshop under the stairs.
- Large dictionaries may not be taken home, but copies of single pages can be made.
- A box for returned volumes stands outside the door and is emptied every morning.
# orchard
The Kessel orchard grows a rare pear called Winter Duchess.
? What is the rare pear called that the Kessel orchard grows?
? Name the uncommon pear of Kessel.
= Duchess
The cider press in the barn was repaired by a blacksmith named Oskar Lund.
? Who repaired the cider press in the barn?
? Which craftsman mended the machine for making cider?
= Lund
Frost destroyed the cherry blossom in the year 1987.
? In which year did frost destroy the cherry blossom?
? When were the cherry flowers killed by cold?
= 1987
The bees are kept in blue hives behind the chapel.
? What colour are the hives of the bees?
? In which colour are the homes of the bees?
= blue
Every basket of plums must weigh exactly nine kilograms.
? How much must every basket of plums weigh?
? What weight is required of a basket of plums?
= nine
The dog that guards the orchard answers to the name of Biscuit.
? What is the name of the dog that guards the orchard?
? What do people call the watchdog among the trees?
= Biscuit
- Most of the trees stand on the slope that looks south, where the soil is dry and stony.
- Pruning begins after the new year and goes on until the sap rises.
- Pickers arrive in late summer and sleep in the long house beside the stream.
- Windfalls are gathered every evening and go to the pigs of the neighbouring farm.
- Grafting is done by hand, with wax and raffia, as it has always been.
- The market in town takes the best fruit, and the rest is dried or pressed.
- Wasps are a trouble in warm autumns, and the ladders have to be watched.
- The grass between the rows is cut twice a year with a scythe.
# railway
The mountain railway was opened by Queen Amalia in 1902.
? Who opened the mountain railway?
? Which royal person inaugurated the line in the mountains?
= Amalia
The steepest stretch of the line lies between Orvel and Sankt Bruno.
? Between which places does the steepest stretch of the line lie?
? Where is the line at its steepest?
= Orvel
The locomotive called Marmot burns wood instead of coal.
? What does the locomotive called Marmot burn?
? Which fuel does Marmot use?
= wood
Passengers with bicycles pay an extra fee of two crowns.
? What extra fee do passengers with bicycles pay?
? How much more must cyclists pay for taking a bike along?
= two
The tunnel under the glacier is four hundred metres long.
? How long is the tunnel under the glacier?
? What is the length of the passage below the glacier?
= four hundred
The station clock was made by a watchmaker from Geneva.
? Where did the watchmaker who made the station clock come from?
? From which city was the maker of the clock at the station?
= Geneva
- The line climbs through forest at first and reaches the open pastures after an hour.
- In summer there are six trains a day in each direction, and in winter there are three.
- Snow is cleared by a plough that is pushed by the strongest engine.
- Tickets are sold at the lower terminus and by the guard on the train.
- The carriages have wooden seats and large windows that can be let down.
- Freight is carried in the early morning, mostly hay, cheese and building stone.
- A viaduct of stone crosses the gorge, and hikers like to photograph it.
- The company employs about forty people, many of them from the villages on the way.
# museum
The glass museum owns a vase that once belonged to a Polish countess.
? To whom did the vase in the glass museum once belong?
? Which noble lady used to own the vase?
= countess
The director of the glass museum is called Petra Holm.
? What is the director of the glass museum called?
? Who leads the glass museum?
= Holm
Guided tours in English start at a quarter past two.
? When do guided tours in English start?
? At what time can I join a tour in English?
= quarter past two
The fire of 1894 began in the kitchen of the museum.
? Where did the fire of 1894 begin?
? In which room did the blaze of 1894 start?
= kitchen
The green room shows mirrors from the island of Murano.
? What does the green room show?
? Which objects from Murano can be seen in the green room?
= mirrors
School classes get a discount of sixty percent.
? What discount do school classes get?
? By how much is the price lower for pupils coming with their class?
= sixty
- The collection fills nine rooms on two floors of a former merchant's house.
- Cases are lit from below, so that the colours can be seen as their makers meant them.
- A furnace in the yard is fired in the warm months and visitors may watch.
- The shop sells small bottles, beads and books about the history of the craft.
- Bags have to be left in the lockers by the entrance, which take a coin.
- Many pieces came from abroad and were packed in straw for the long journey.
- The roof was mended after the storm, and the upper gallery is open again.
- Photographs are allowed, but without a flash and without a stand.
# clinic
The animal clinic in Dorrin was founded by Doctor Samuel Okoye.
? Who founded the animal clinic in Dorrin?
? Whose idea was the animal clinic in Dorrin, that is, who set it up?
= Okoye
Rabbits are treated only on Tuesday mornings.
? When are rabbits treated?
? On which day can I bring my rabbit?
= Tuesday
The medicine cabinet is opened with a brass key.
? What is the medicine cabinet opened with?
? Which key do I need for the drugs?
= brass
An emergency visit at night costs eighty francs.
? How much does an emergency visit at night cost?
? How expensive is it to come at night in an emergency?
= eighty
The oldest patient of the clinic is a tortoise named Methuselah.
? What is the name of the oldest patient of the clinic?
? Which animal has been coming to the clinic for the longest time, and what is it called?
= Methuselah
The waiting room was decorated by pupils from a school in Lindau.
? Where is the school whose pupils decorated the waiting room?
? From which town are the children who painted the waiting room?
= Lindau
- The practice stands at the edge of the village, with a paddock behind it for larger animals.
- Owners are asked to keep their animals on a lead or in a box while they wait.
- Two nurses look after the wards, and one of them stays overnight when it is needed.
- The operating table can be raised and lowered, and the lamps above it are new.
- Vaccinations are written into a small yellow booklet that the owner takes home.
- Farmers usually telephone first, because the vet spends most afternoons on the road.
- Blood samples are sent to the laboratory in the city and come back within days.
- Stray cats are taken in for a short time until somebody gives them a home.
# observatory
The large telescope on Mount Serra was built by the firm of Aldous Wren.
? Which firm built the large telescope on Mount Serra?
? Which company made the big telescope?
= Wren
The comet of 1956 was first seen by a night watchman.
? Who first saw the comet of 1956?
? Whose eyes caught the comet of 1956 before all others?
= watchman
The dome turns on wheels that are made of bronze.
? What are the wheels made of on which the dome turns?
? Which metal are the wheels under the dome?
= bronze
The public may look through the small telescope on the first Monday of each month.
? When may the public look through the small telescope?
? On which day are ordinary people allowed to look at the sky?
= Monday
The mirror has to be cleaned every fourteen months.
? How often does the mirror have to be cleaned?
? After how many months is the mirror due for cleaning?
= fourteen
The cook of the observatory keeps goats for their milk.
? What does the cook of the observatory keep?
? Which animals belong to the person who cooks?
= goats
- The road to the summit is narrow and closed to cars after dark.
- Astronomers sleep by day in a low building with thick walls and shutters.
- On most nights of the dry season the sky is clear until the morning.
- Old photographic plates are stored in the cellar in boxes of oak.
- Instruments are cooled, and the vapour can be seen when the covers are opened.
- Students from three universities share the time that is left over.
- The lamps in the corridors are red, so that eyes stay used to the dark.
- Lightning is frequent in August, and the cables are then unplugged.
# bakery
The bakery in Mill Lane uses a sourdough that is ninety years old.
? How old is the sourdough that the bakery in Mill Lane uses?
? What is the age of the sourdough?
= ninety
The oven was bricked by two brothers from Portugal.
? Where did the two brothers who bricked the oven come from?
? From which country were the men who built the oven?
= Portugal
Rye bread is sold at a lower price after five o'clock.
? What is sold at a lower price after five o'clock?
? Which bread becomes cheaper late in the day?
= rye
The secret ingredient of the almond cake is orange water.
? What is the secret ingredient of the almond cake?
? What gives the almond cake its special taste?
= orange
The apprentice who won the silver medal is Tomas Reiter.
? Who is the apprentice who won the silver medal?
? Who won the silver medal?
= Reiter
The delivery van has been replaced by a cargo bicycle.
? What has the delivery van been replaced by?
? What carries the goods to customers now that the van is gone?
= bicycle
- Work begins at three in the morning, long before the street is awake.
- Flour comes in sacks from a mill down the river and is kept in a dry loft.
- The dough rests overnight in wooden troughs covered with linen.
- On market days there is a queue, and the rolls are gone within the hour.
- The shelves behind the counter were built from the planks of an old barn.
- Customers bring their own bags, and paper is given out only when asked for.
- In December the windows are decorated with stars of gingerbread.
- Stale loaves are dried, ground and used again for crumbs.
"""


@dataclass
class Theme:
    """Facts (sentence, two questions, a word of the right answer) and sentences that nobody asks for."""

    facts: list[tuple[str, tuple[str, str], str]] = field(default_factory=list)
    others: list[str] = field(default_factory=list)


def themes() -> dict[str, Theme]:
    found: dict[str, Theme] = {}
    lines = iter(TEXTS.strip().splitlines())
    for line in lines:
        if line.startswith("# "):
            theme = found[line[2:]] = Theme()
        elif line.startswith("- "):
            theme.others.append(line[2:])
        else:
            questions = (next(lines)[2:], next(lines)[2:])
            theme.facts.append((line, questions, next(lines)[2:]))
    return found


def document_of(number: int, name: str) -> Document:
    """About 35 sentences in random order: those of the theme and of another, some of a third. As text, or as pages."""
    every, rng = list(themes().values()), random.Random(number + 7)
    own, other, third = (every[(number + step) % len(every)] for step in (0, 1, 3))
    sentences = [fact[0] for theme in (own, other) for fact in theme.facts]
    sentences += own.others + other.others + rng.sample(third.others, 4)
    rng.shuffle(sentences)
    paragraphs = [" ".join(sentences[start : start + 6]) for start in range(0, len(sentences), 6)]
    if number % 2:
        pages = tuple(Page(i, textwrap.fill(text, 70)) for i, text in enumerate(paragraphs, 1))
        return Document(f"{name}.pdf", "0" * 64, "application/pdf", pages)
    return Document(f"{name}.txt", "0" * 64, "text/plain", (Page(1, "\n\n".join(paragraphs)),))


@pytest.fixture(scope="module")
def embedded():
    path = embedded_model_path()
    model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32).eval().requires_grad_(requires_grad=False)
    return SparseSpecDecoder(model), AutoTokenizer.from_pretrained(path)


def raw_mass(run, answer, _spans, since):
    """The baseline: attention mass as it is."""
    last = len(run.prompt_ids) - 1
    with attribution_module._rewound(run, since):
        weights = attribution_module._mean_mass(run, last, [run.prompt_ids[last], *answer[:-1]])
        return weights.cpu()


def three_at_random(run, answer, spans, _since):
    """The other baseline: three tokens of the documents, whatever was asked."""
    weights = torch.zeros(len(run.prompt_ids))
    weights[random.Random(repr(answer)).sample(range(*spans[0]), 3)] = 1.0
    return weights


WAYS = {"ours": attribution, "raw mass": raw_mass, "random": three_at_random}


def asked(embedded, document, question, last=None):
    """The answer, its passages in each of the ways, and the run."""
    decoder, tokenizer = embedded
    prompt = build_prompt(tokenizer, [document], question)
    run = decoder.prepare(prompt.ids, max_new_tokens=24, stop_token_ids=[tokenizer.eos_token_id])
    prefix = None if last is None else last.prefix(prompt.documents_end, release=True)
    list(run.prefill(splits=(prompt.documents_end,), prefix=prefix))
    list(run.decode())
    answer = list(run.output.token_ids)
    offsets = token_offsets(tokenizer, prompt.ids, prompt.spans, [document])
    found = {}
    for name, way in WAYS.items():
        weights = way(run, answer, prompt.spans, prompt.documents_end).tolist()
        found[name] = looked_at(weights, offsets, [document])
    return tokenizer.decode(answer, skip_special_tokens=True), found, run


def rank(passages, sentence):
    """Which of the passages holds the sentence, from 1; None if none does."""
    return next((i for i, passage in enumerate(passages, 1) if sentence in passage.text), None)


@pytest.mark.embedded
def test_one_question(embedded):
    (fact, (question, _), word), document = themes()["harbour"].facts[0], document_of(0, "harbour")
    answer, found, _ = asked(embedded, document, question)
    passages = found["ours"]
    assert word in answer
    assert rank(passages[:1], fact) == 1
    assert passages[0].told().startswith(f'looked at: "{fact}')
    assert 0 < sum(passage.weight for passage in passages) <= 1


@pytest.mark.embedded
@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_passages_hold_the_fact(embedded):
    counts: Counter[tuple[int, str]] = Counter()
    for number, (name, theme) in enumerate(themes().items()):
        document, run, half = document_of(number, name), None, number % 2
        for sentence, questions, word in theme.facts:
            for question in questions:
                answer, found, run = asked(embedded, document, question, run)
                if word.lower() not in answer.lower():
                    continue
                counts[half, "right"] += 1
                for way, passages in found.items():
                    place = rank(passages, sentence)
                    counts[half, f"{way}, first"] += place == 1
                    counts[half, f"{way}, any"] += place is not None
    print("\n", {key: counts[key] for key in sorted(counts)}, flush=True)  # noqa: T201 record
    right = counts[1, "right"]  # the themes by which nothing was chosen
    assert right >= 10
    assert counts[1, "ours, any"] >= 0.8 * right
    assert counts[1, "random, any"] <= 0.4 * right
    assert counts[1, "ours, first"] >= counts[1, "raw mass, first"] + 0.3 * right
