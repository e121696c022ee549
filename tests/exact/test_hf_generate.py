"""The decoder inside `model.generate`: what comes out is what `generate` itself gives, and the rest is refused."""

from __future__ import annotations

import gc
import weakref
from collections import Counter
from functools import partial
from threading import Thread

import pytest
import torch
from transformers import (
    DynamicCache,
    LogitsProcessor,
    LogitsProcessorList,
    StaticCache,
    StoppingCriteria,
    StopStringCriteria,
    TextIteratorStreamer,
    WatermarkingConfig,
)
from transformers.generation import logits_process as hf
from transformers.generation.streamers import BaseStreamer

import spsl_cli
from spsl_cli.decoding import decoder, engine
from spsl_cli.decoding.chooser import SamplingChooser
from spsl_cli.decoding.config import DecodeConfig
from spsl_cli.decoding.hf import scores as hf_scores
from spsl_cli.decoding.hf.generate import hf_generate
from spsl_cli.decoding.hf.processors import RowProcessors
from spsl_cli.decoding.hf.scores import ProcessedScores
from tests.models import CONFIGS, VOCABULARY, byte_tokenizer, random_prompt, tiny_model
from tests.statistical import table
from tests.statistical.chi_square import chi_square

NEW = 32
OURS = {"custom_generate": hf_generate, "decode_config": DecodeConfig(k=4, budget=0.1, importance="window")}
LENGTHS = (40, 75, 9, 110)


def padded(*prompts):
    """Input ids and mask of a batch, padded on the left."""
    longest = max(map(len, prompts))
    ids = [[0] * (longest - len(prompt)) + prompt for prompt in prompts]
    mask = [[0] * (longest - len(prompt)) + [1] * len(prompt) for prompt in prompts]
    return {"input_ids": torch.tensor(ids), "attention_mask": torch.tensor(mask)}


def one(length=90, seed=0):
    return padded(random_prompt(length, seed))


def batch():
    return padded(*(random_prompt(length, length) for length in LENGTHS))


def both(model, inputs, **options):
    """What `generate` gives, and what it gives with the decoder; options that are called are made anew for each."""
    outputs = []
    for ours in ({}, OURS):
        made = {name: value() if callable(value) else value for name, value in options.items()}
        outputs.append(model.generate(**inputs, **{"do_sample": False, "max_new_tokens": NEW, **made, **ours}))
    return outputs


class Alternating(LogitsProcessor):
    """Prefers even tokens behind odd ones; notes what it was shown."""

    def __init__(self):
        self.shown = []

    def __call__(self, input_ids, scores):
        self.shown += [tuple(row) for row in input_ids.tolist()]
        scores[:, ::2] += torch.where(input_ids[:, -1:] % 2 == 1, 4.0, -4.0)  # in place, as many do
        return scores


class NearTheEnd(LogitsProcessor):
    """Knows how long each row's prompt is, padding and all, and forbids a token by how many are new in it."""

    def __init__(self, per_row):
        self.per_row = per_row

    def __call__(self, input_ids, scores):
        assert len(scores) == len(self.per_row)
        for row, start in enumerate(self.per_row):
            scores[row, (start + input_ids.shape[1] * 3) % VOCABULARY] = -float("inf")
            scores[row, (start + input_ids.shape[1]) % VOCABULARY] += 9.0
        return scores


class Constraint:
    """A prefix constraint that depends on the row of the batch."""

    def __call__(self, batch_id, ids):
        return [token for token in range(VOCABULARY) if (token + int(ids[-1])) % 3 != batch_id % 3]


PROCESSORS = {
    "repetition penalty": {"repetition_penalty": 1.4},
    "n-grams": {"no_repeat_ngram_size": 1},
    "bad words": {"bad_words_ids": [[token] for token in range(1, 30)] + [[40, 41]]},
    "suppressed": {"suppress_tokens": list(range(1, 40))},
    "suppressed at first": {"begin_suppress_tokens": list(range(5, VOCABULARY))},
    "sequence bias": {"sequence_bias": [[[token], 8.0] for token in range(5, 12)]},
    "prefix constraint": {"prefix_allowed_tokens_fn": Constraint},
    "custom": {"logits_processor": lambda: LogitsProcessorList([Alternating()])},
    "watermark": {"watermarking_config": WatermarkingConfig(bias=9.0, seeding_scheme="selfhash")},
    "several": {
        "repetition_penalty": 1.3, "no_repeat_ngram_size": 2, "suppress_tokens": [3, 4], "renormalize_logits": True,
        "logits_processor": lambda: LogitsProcessorList([Alternating()]),
    },
    "penalty of the prompt": {"encoder_repetition_penalty": 1.5, "encoder_no_repeat_ngram_size": 1},
}  # fmt: skip


@pytest.fixture
def counted(monkeypatch):
    """Counts drafted and accepted tokens: without any, a test would say nothing."""
    seen = Counter()
    right = engine.SpeculativeLoop._account

    def account(self, rows, plan, drafts, results, times):
        seen.update(drafted=sum(map(len, drafts)), accepted=sum(accepted for accepted, _ in results))
        return right(self, rows, plan, drafts, results, times)

    monkeypatch.setattr(engine.SpeculativeLoop, "_account", account)
    return seen


# ---- greedy ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", CONFIGS)
def test_greedy_tokens_are_those_of_generate(family, counted):
    for length in (1, 30, 150):
        theirs, ours = both(tiny_model(family, seed=length), one(length))
        assert torch.equal(theirs, ours)
    assert counted["accepted"] < counted["drafted"]


@pytest.mark.parametrize(
    ("family", "name"), [*(("llama", name) for name in PROCESSORS), ("qwen2", "several"), ("qwen3", "several")]
)
def test_processors_see_every_rows_true_prefix(family, name, counted):
    model, options = tiny_model(family, seed=2), PROCESSORS[name]
    theirs, ours = both(model, one(), **options)
    assert torch.equal(theirs, ours)
    assert not torch.equal(theirs, both(model, one())[0]), "this processor did nothing"
    assert 0 < counted["accepted"] < counted["drafted"]


def test_min_new_tokens_and_forced_end(counted):
    model = tiny_model(seed=1)
    free = both(model, one())[0][0, 90:].tolist()
    for options in ({"min_new_tokens": 20}, {"forced_eos_token_id": free[0]}, {"min_length": 100}):
        theirs, ours = both(model, one(), eos_token_id=free[3], **options)
        assert torch.equal(theirs, ours)
        assert len(theirs[0]) > 90 + free.index(free[3]) + 1 or "forced_eos_token_id" in options
    assert counted["accepted"]


@pytest.mark.parametrize("inputs", [one(), batch()], ids=["one", "batch"])
def test_a_processor_is_shown_what_generate_would_show(inputs, counted):
    """Padding included: all that `generate` shows is shown here, and beyond it only drafts behind a true prefix."""
    theirs, ours = Alternating(), Alternating()
    model = tiny_model(seed=0)
    expected = model.generate(**inputs, do_sample=False, max_new_tokens=NEW, logits_processor=[theirs])
    found = model.generate(**inputs, do_sample=False, max_new_tokens=NEW, logits_processor=[ours], **OURS)
    assert torch.equal(expected, found)
    assert set(theirs.shown) <= set(ours.shown)
    whole, start = [tuple(row) for row in expected.tolist()], inputs["input_ids"].shape[1]
    for shown in set(ours.shown) - set(theirs.shown):
        assert any(shown[:start] == row[:start] for row in whole)
        assert start < len(shown) < start + NEW
    assert counted["accepted"] < counted["drafted"]


def test_a_processor_is_not_asked_behind_the_end():
    """A grammar that is through need not know what may follow; drafts run on all the same."""

    def allowed(_batch_id, ids):
        new = ids[90:].tolist()
        if end in new or len(new) >= NEW:
            raise LookupError("behind the end")
        return range(VOCABULARY)

    model = tiny_model(seed=4)
    free = both(model, one())[0][0, 90:].tolist()
    for end in free[4:16]:
        theirs, ours = both(model, one(), eos_token_id=end, prefix_allowed_tokens_fn=lambda: allowed)
        assert torch.equal(theirs, ours)


# ---- where it ends --------------------------------------------------------------------------------------------------


class Product(StoppingCriteria):
    """Ends behind the first new token that makes the sum of all a multiple of a number (or of each row's own)."""

    def __init__(self, number, start):
        self.number, self.start = number, start

    def __call__(self, input_ids, scores, **_):
        assert scores is None
        return input_ids[:, self.start :].sum(-1) % self.number == 0


@pytest.mark.parametrize("several", [False, True])
def test_eos_anywhere_in_a_block(several, counted):
    model = tiny_model(seed=5)
    free = both(model, one())[0][0, 90:].tolist()
    for position in range(16):
        eos = [free[position], free[(position + 9) % NEW]] if several else free[position]
        theirs, ours = both(model, one(), eos_token_id=eos)
        assert torch.equal(theirs, ours)
    assert counted["accepted"]


def test_custom_criteria_anywhere_in_a_block():
    model, lengths = tiny_model(seed=6), set()
    for number in range(2, 20):
        theirs, ours = both(model, one(), stopping_criteria=lambda number=number: [Product(number, 90)])
        assert torch.equal(theirs, ours)
        lengths.add(len(ours[0]))
    assert len(lengths) > 5


def test_stop_strings(counted):
    tokenizer = byte_tokenizer()
    model = tiny_model(vocab_size=258, seed=7)
    letters = tokenizer("abcdefghijklmnopqrstuvwxyz")["input_ids"]
    others = {"suppress_tokens": sorted(set(range(258)) - set(letters))}
    free = both(model, one(), **others)[0][0, 90:].tolist()
    for position in range(4, 12):
        text = tokenizer.decode(free[position : position + 2])
        stop = partial(StopStringCriteria, tokenizer, [text])
        theirs, ours = both(model, one(), **others, stopping_criteria=lambda stop=stop: [stop()])
        assert torch.equal(theirs, ours)
        assert len(ours[0]) <= 90 + position + 2
        assert tokenizer.decode(ours[0, 90:]).endswith(text)
    assert counted["accepted"]


def test_no_time_is_time_for_one_token():
    theirs, ours = both(tiny_model(), one(), max_time=1e-9)
    assert ours.shape == (1, 91)
    assert torch.equal(theirs, ours)


def test_a_length_limit_of_ones_own_takes_precedence_as_in_generate():
    from transformers import MaxLengthCriteria  # noqa: PLC0415

    for length in (5, 100, 130):  # the first one is shorter than the prompt: one token comes all the same
        theirs, ours = both(tiny_model(), one(), stopping_criteria=lambda length=length: [MaxLengthCriteria(length)])
        assert torch.equal(theirs, ours)


# ---- batches --------------------------------------------------------------------------------------------------------

BATCH_OPTIONS = {
    **{name: options for name, options in PROCESSORS.items() if name != "watermark"},  # slow
    "nothing": {},
    "eos": {"eos_token_id": [5, 9, 13]},
    "eos and a penalty": {"eos_token_id": [5, 9, 13], "repetition_penalty": 1.4, "min_new_tokens": 2},
    "by place": {"logits_processor": lambda: LogitsProcessorList([NearTheEnd([1, 17, 30, 44])])},
    "criterion by place": {
        "eos_token_id": [5],
        "stopping_criteria": lambda: [Product(torch.tensor([7, 5, 3, 11]), max(LENGTHS))],
    },
}


@pytest.mark.parametrize("options", BATCH_OPTIONS.values(), ids=BATCH_OPTIONS)
def test_a_padded_batch_is_generates_batch(options, counted):
    """Ids and padding, row by row; prompts of four lengths."""
    theirs, ours = both(tiny_model(seed=8), batch(), **options)
    assert torch.equal(theirs, ours)
    assert counted["accepted"] < counted["drafted"]


def test_rows_that_end_apart_are_padded():
    options = BATCH_OPTIONS["eos and a penalty"]
    theirs, ours = both(tiny_model(seed=8), batch(), **options, pad_token_id=60)
    assert torch.equal(theirs, ours)
    assert len({row[max(LENGTHS) :].count(60) for row in ours.tolist()}) > 2


def test_a_batch_that_could_end_apart_needs_a_padding_token():
    model, inputs = tiny_model(pad_token_id=None), {name: ids[:, -9:] for name, ids in batch().items()}
    assert torch.equal(*both(model, inputs))
    with pytest.raises(ValueError, match="pad_token_id"):
        model.generate(**inputs, max_new_tokens=4, max_time=9.0, **OURS)


# ---- sampling -------------------------------------------------------------------------------------------------------

WARPERS = {"do_sample": True, "temperature": 1.6, "top_k": 4, "top_p": 0.9, "repetition_penalty": 1.3}
TINY = 7


def tiny_vocabulary():
    return tiny_model(vocab_size=TINY, num_hidden_layers=1, seed=0)


def processors_of(model, inputs, **options):
    """The very list that `generate` prepares."""
    kept = []

    def keep(_model, input_ids, logits_processor, **_):
        kept.append(logits_processor)
        return input_ids

    model.generate(**inputs, **options, custom_generate=keep)
    return kept[0]


def expected_outputs(model, inputs, new_tokens, **options):
    """The probability of every output: the model's own forward, the processors that `generate` prepares."""
    processors = processors_of(model, inputs, max_new_tokens=new_tokens, **options)
    outputs = {(): 1.0}
    for _ in range(new_tokens):
        longer = {}
        for tokens, weight in outputs.items():
            ids = torch.cat((inputs["input_ids"], torch.tensor([tokens], dtype=torch.long)), 1)
            p = processors(ids, model(ids).logits[:, -1].float()).softmax(-1)[0].tolist()
            longer |= {(*tokens, token): weight * chance for token, chance in enumerate(p) if chance > 0}
        outputs = longer
    return outputs


def test_samples_pass_chi_square(monkeypatch, counted):
    """1,000 outputs of four tokens, the last three against their exact distribution (the first comes of the prefill).

    Passes at p > 1e-4. The seed is fixed; had it been drawn afresh, a right decoder would fail one time in 10,000.
    """
    monkeypatch.setattr(engine, "PLAIN_STEPS", 0)
    model, inputs, samples = tiny_vocabulary(), padded([1 + token % (TINY - 1) for token in random_prompt(24)]), 1000
    wanted: Counter[tuple[int, ...]] = Counter()
    for tokens, probability in expected_outputs(model, inputs, 4, **WARPERS).items():
        wanted[tokens[1:]] += probability
    torch.manual_seed(1)
    seen: Counter[tuple[int, ...]] = Counter()
    config = DecodeConfig(k=2, budget=1, sink=0, recent=1)
    for _ in range(samples // 100):
        output = model.generate(
            **inputs, **WARPERS, max_new_tokens=4, num_return_sequences=100, custom_generate=hf_generate,
            decode_config=config,
        )  # fmt: skip
        seen.update(tuple(row[-3:]) for row in output.tolist())
    assert 0.1 < counted["accepted"] / counted["drafted"] < 0.9
    assert len(wanted) > 50
    assert chi_square(seen, wanted, bins=10) > 1e-4


@pytest.mark.parametrize("quality", [0.95, 0.5, 0.0])
@pytest.mark.parametrize("k", [1, 3])
def test_every_output_has_its_exact_probability(quality, k, monkeypatch):
    """All outputs of four tokens of the real loop, summed over every way the dice can fall, under four processors."""
    monkeypatch.setattr(engine, "PLAIN_STEPS", 0)
    processors = LogitsProcessorList(
        [
            hf.RepetitionPenaltyLogitsProcessor(1.5),
            hf.NoRepeatNGramLogitsProcessor(3),
            Alternating(),
            hf.TemperatureLogitsWarper(2.0),
            hf.TopPLogitsWarper(0.9),
        ]
    )

    def chooser(_sampling, dice):
        own = RowProcessors(processors, 0, 1)
        return SamplingChooser(ProcessedScores(torch.empty(0, dtype=torch.long), own, (), 6), dice)

    monkeypatch.setattr(table, "make_chooser", chooser)
    target = table.TableTarget(3, quality)
    found = table.enumerated_distribution(target, None, k, 4)
    expected = {(): 1.0}
    for _ in range(4):
        longer = {}
        for tokens, weight in expected.items():
            prefix = table.PROMPT + tokens
            p = processors(torch.tensor([prefix]), target.logits(prefix, False)[None].clone()).softmax(-1)[0].tolist()
            longer |= {(*tokens, token): weight * chance for token, chance in enumerate(p) if chance > 0}
        expected = longer
    assert set(found) == set(expected)
    assert 8 < len(expected) < 81, "the processors should forbid some"
    for tokens, probability in expected.items():
        assert found[tokens] == pytest.approx(probability, abs=2e-6)  # float32 distributions


def test_the_global_seed_reproduces_and_rows_differ(counted):
    model, outputs = tiny_model(seed=9), []
    for seed in (3, 3, 4):
        torch.manual_seed(seed)
        outputs.append(
            [model.generate(**one(), do_sample=True, max_new_tokens=20, num_return_sequences=3, **OURS) for _ in "ab"]
        )
    first, same, other = outputs
    assert all(map(torch.equal, first, same))
    assert not torch.equal(first[0], first[1])  # the generator moves on
    assert not torch.equal(first[0], other[0])
    assert first[0].shape == (3, 110)
    assert len({tuple(row) for row in first[0].tolist()}) == 3
    assert counted["drafted"]


def test_returned_sequences_of_a_prompt_share_its_batch_id():
    def allowed(batch_id, ids):
        assert ids.dim() == 1
        return [token for token in range(VOCABULARY) if token % 2 == batch_id]

    options = {"do_sample": True, "num_return_sequences": 3, "max_new_tokens": 12, "prefix_allowed_tokens_fn": allowed}
    output = tiny_model().generate(**padded(random_prompt(40), random_prompt(30)), **options, **OURS)
    assert (output[:3, 40:] % 2 == 0).all()
    assert (output[3:, 40:] % 2 == 1).all()


def test_processors_that_forbid_everything_are_told():
    class Nothing(LogitsProcessor):
        def __call__(self, input_ids, scores):
            return scores.fill_(-float("inf")) if input_ids.shape[1] >= 98 else scores

    with pytest.raises(RuntimeError, match="no token can be drawn"):
        tiny_model().generate(**one(), do_sample=True, max_new_tokens=NEW, logits_processor=[Nothing()], **OURS)


# ---- streamers ------------------------------------------------------------------------------------------------------


class Recorder(BaseStreamer):
    def __init__(self):
        self.calls = []

    def put(self, value):
        assert value.device.type == "cpu"
        self.calls.append((value.dtype, value.tolist()))

    def end(self):
        self.calls.append("end")


@pytest.mark.parametrize("inputs", [one(), batch()], ids=["one", "batch"])
@pytest.mark.parametrize("options", [{}, {"eos_token_id": [5, 9, 13], "pad_token_id": 60}], ids=["length", "eos"])
def test_a_streamer_is_told_what_generate_tells(inputs, options):
    theirs, ours, model = Recorder(), Recorder(), tiny_model(seed=8)
    model.generate(**inputs, **options, do_sample=False, max_new_tokens=NEW, streamer=theirs)
    model.generate(**inputs, **options, do_sample=False, max_new_tokens=NEW, streamer=ours, **OURS)
    assert ours.calls == theirs.calls
    given = Recorder()
    call = partial(hf_generate, streamer=given, decode_config=DecodeConfig(k=3))
    model.generate(**inputs, **options, do_sample=False, max_new_tokens=NEW, custom_generate=call)
    assert given.calls == theirs.calls


def test_tokens_are_told_as_they_come():
    class Watching(Recorder):
        def put(self, value):
            super().put(value)
            seen.add(max(map(len, shown.shown), default=0))

    seen, shown = set(), Alternating()
    tiny_model().generate(**one(), max_new_tokens=20, streamer=Watching(), logits_processor=[shown], **OURS)
    assert len(seen) > 5  # processors were asked in between


def test_a_thread_that_reads_an_iterator_streamer_ends():
    tokenizer = byte_tokenizer()
    model = tiny_model(vocab_size=258, seed=7)
    inputs = tokenizer("A short prompt.", return_tensors="pt", return_token_type_ids=False)
    streamer = TextIteratorStreamer(tokenizer, skip_prompt=True, timeout=60)
    options = {**inputs, "streamer": streamer, "max_new_tokens": 12, "do_sample": False, **OURS}
    thread = Thread(target=model.generate, kwargs=options)
    thread.start()
    text = "".join(streamer)
    thread.join()
    expected = model.generate(**inputs, max_new_tokens=12, do_sample=False)
    assert text == tokenizer.decode(expected[0, inputs["input_ids"].shape[1] :])


def test_a_streamer_is_ended_and_the_model_left_alone_when_something_fails():
    class Failing(LogitsProcessor):
        def __call__(self, input_ids, scores):
            if input_ids.shape[1] > 100:
                raise ZeroDivisionError
            return scores

    model, streamer = tiny_model(), Recorder()
    before = model.config._attn_implementation
    with pytest.raises(ZeroDivisionError):
        model.generate(**one(), max_new_tokens=NEW, logits_processor=[Failing()], streamer=streamer, **OURS)
    assert streamer.calls[-1] == "end"
    assert 5 < len(streamer.calls) < 15
    assert model.config._attn_implementation == before
    refused = Recorder()
    with pytest.raises(ValueError, match="output_scores"):
        model.generate(**one(), max_new_tokens=4, output_scores=True, streamer=refused, **OURS)
    assert refused.calls[-1] == "end"
    assert torch.equal(*both(model, one()))
    assert model.config._attn_implementation == before


# ---- what comes back, what is refused --------------------------------------------------------------------------------


def test_return_dict():
    theirs, ours = both(tiny_model(), one(), return_dict_in_generate=True)
    assert type(ours) is type(theirs)
    assert torch.equal(ours.sequences, theirs.sequences)
    assert ours.sequences.dtype == torch.long
    assert list(ours) == ["sequences"]


def test_the_public_name():
    assert spsl_cli.hf_generate is hf_generate
    assert all(hasattr(spsl_cli, name) for name in spsl_cli.__all__)


REFUSED = {
    "num_beams=2": {"num_beams": 2},
    "penalty_alpha=0.6": {"penalty_alpha": 0.6, "top_k": 4},
    "dola_layers='high'": {"dola_layers": "high"},
    "prompt_lookup_num_tokens=3": {"prompt_lookup_num_tokens": 3},
    "assistant_model=": {"assistant_model": tiny_model(num_hidden_layers=1)},
    "synced_gpus=": {"synced_gpus": True},
    "output_scores=True": {"output_scores": True, "return_dict_in_generate": True},
    "output_logits=True": {"output_logits": True, "return_dict_in_generate": True},
    "output_attentions=True": {"output_attentions": True},
    "output_hidden_states=True": {"output_hidden_states": True},
    "cache_implementation='static'": {"cache_implementation": "static"},
    "cache_implementation='offloaded'": {"cache_implementation": "offloaded"},
    "use_cache=False": {"use_cache": False},
    "guidance_scale=1.5": {"guidance_scale": 1.5},
    "prefill_chunk=": {"prefill_chunk_size": 16},
    "SynthIDTextWatermark": {"watermarking_config": {"ngram_len": 5, "keys": [1, 2, 3]}},
    "a cache of its own": {"cache": DynamicCache()},
    "inputs_embeds=": {"inputs_embeds": torch.zeros(1, 90, 48)},
    "position_ids other": {"position_ids": torch.arange(1, 91)[None]},
    "position_ids of shape": {"position_ids": torch.arange(90).expand(3, 1, 90)},
}


@pytest.mark.parametrize(("message", "options"), REFUSED.items(), ids=REFUSED)
def test_what_would_have_to_be_ignored_is_refused_by_name(message, options):
    if "watermarking_config" in options:
        from transformers import SynthIDTextWatermarkingConfig  # noqa: PLC0415

        options = {"watermarking_config": SynthIDTextWatermarkingConfig(**options["watermarking_config"])}
    model = tiny_model()
    with pytest.raises(ValueError, match=message):
        model.generate(**one(), max_new_tokens=4, **options, **OURS)


def test_a_users_cache_is_refused_whatever_its_kind():
    model = tiny_model()
    for cache in (StaticCache(config=model.config, max_cache_len=128), DynamicCache()):
        with pytest.raises(ValueError, match="cache"):
            model.generate(**one(), max_new_tokens=4, cache=cache, return_dict_in_generate=True, **OURS)


def test_token_types_are_refused_since_they_have_embeddings():
    from transformers import GPT2Config, GPT2LMHeadModel  # noqa: PLC0415

    sizes = {"vocab_size": VOCABULARY, "n_embd": 32, "n_layer": 2, "n_head": 4, "bos_token_id": None}
    model = GPT2LMHeadModel(GPT2Config(**sizes, eos_token_id=None, pad_token_id=0)).eval()
    assert torch.equal(*both(model, one()))
    with pytest.raises(ValueError, match="token_type_ids="):
        model.generate(**one(), token_type_ids=torch.zeros(1, 90, dtype=torch.long), max_new_tokens=4, **OURS)


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        ([1] * 80 + [0] * 10, "padding on the left only"),
        ([1] * 40 + [0] * 10 + [1] * 40, "padding on the left only"),
        ([0] * 40 + [1] * 10 + [0] * 10 + [1] * 30, "padding on the left only"),
        ([0] * 90, "no prompt in row 0"),
        ([1] * 95, "of that shape"),
    ],
    ids=["right", "hole", "hole and padding", "nothing", "longer"],
)
def test_masks_other_than_left_padding_are_refused(mask, message):
    inputs = {**one(), "attention_mask": torch.tensor([mask])}
    inputs["position_ids"] = torch.arange(90)[None]
    if mask == [1] * 95:
        inputs["attention_mask"][0, 0] = 0  # otherwise `generate` drops it
    with pytest.raises(ValueError, match=message):
        tiny_model().generate(**inputs, max_new_tokens=4, **OURS)


def test_positions_that_follow_from_the_mask_are_taken():
    inputs = batch()
    positions = inputs["attention_mask"].cumsum(-1) - 1
    theirs, ours = both(
        tiny_model(seed=8), inputs, position_ids=positions.masked_fill(positions < 0, 3)
    )  # of padding: anything
    assert torch.equal(theirs, ours)


def test_processors_with_state_are_refused():
    class Counting(LogitsProcessor):
        calls = 0

        def __call__(self, input_ids, scores):
            self.calls += 1
            return scores + self.calls * torch.arange(VOCABULARY)

    with pytest.raises(ValueError, match="Counting gives other scores"):
        tiny_model().generate(**one(), max_new_tokens=4, logits_processor=[Counting()], **OURS)


def test_a_model_in_training_mode_and_encoder_decoders_are_refused():
    from transformers import T5Config, T5ForConditionalGeneration  # noqa: PLC0415

    model = tiny_model()
    model.generate(**one(), max_new_tokens=4, **OURS)
    model.train()
    with pytest.raises(ValueError, match="training mode"):
        model.generate(**one(), max_new_tokens=4, **OURS)
    sizes = {"d_model": 16, "d_kv": 8, "d_ff": 16, "num_layers": 1, "num_heads": 2, "decoder_start_token_id": 0}
    other = T5ForConditionalGeneration(T5Config(vocab_size=VOCABULARY, **sizes)).eval()
    with pytest.raises(spsl_cli.UnsupportedModelError, match="encoder-decoder"):
        other.generate(**one(), max_new_tokens=4, **OURS)


def test_the_decoder_is_made_once_and_does_not_keep_the_model_alive(monkeypatch):
    probes = []
    right = decoder.Probe
    monkeypatch.setattr(decoder, "Probe", lambda target: (probes.append(target.dtype), right(target))[1])
    model = tiny_model()
    for _ in range(3):
        assert torch.equal(*both(model, one(20)))
    assert probes == [torch.float32]
    model.to(torch.float64)  # it may be another model now
    assert torch.equal(*both(model, one(20)))
    assert probes == [torch.float32, torch.float64]
    reference = weakref.ref(model)
    del model
    probes.clear()
    gc.collect()
    assert reference() is None


def test_a_mutant_is_noticed(monkeypatch):
    """Were every row judged behind the committed tokens alone, the processors would see the wrong prefix."""
    right = hf_scores.ProcessedScores.__call__
    stale = {"repetition_penalty": 1.4, "no_repeat_ngram_size": 1}
    monkeypatch.setattr(
        hf_scores.ProcessedScores, "__call__", lambda self, logits, tail: right(self, logits, [1] * len(tail))
    )
    assert any(not torch.equal(*both(tiny_model(seed=seed), one(), **stale)) for seed in range(4))
