"""Tasks make samples of the promised length, the same ones again for the same seed, whose answers are in the text."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from dataclasses import dataclass

import pytest

from spsl_cli.bench.tasks.catalogue import make_task, task_names
from spsl_cli.bench.tasks.fitting import Hidden, hide, passage
from spsl_cli.bench.tasks.sources import TextSource, builtin_source, own_source
from spsl_cli.bench.tasks.summary import OwnDocuments
from spsl_cli.documents import Document, Page
from spsl_cli.errors import NoReadableInputError, UsageError

SOURCE = builtin_source()


@dataclass
class Words:
    """Every run of signs and every run of blanks is a token; `read` says how many characters were looked at."""

    read: int = 0

    def count(self, text):
        self.read += len(text)
        return len(re.findall(r"\s+|\S+", text))

    def cut(self, text, tokens):
        self.read += len(text)
        ends = [found.end() for found in re.finditer(r"\s+|\S+", text)]
        return text[: ends[min(tokens, len(ends)) - 1]] if tokens > 0 and ends else ""


class Letters:
    """Every sign is a token."""

    def count(self, text):
        return len(text)

    def cut(self, text, tokens):
        return text[: max(0, tokens)]


def samples(name, tokens=1000, count=3, seed=1, ruler=None, source=SOURCE):
    return make_task(name, source).samples(ruler or Words(), tokens, count, seed)


@pytest.mark.parametrize("name", task_names())
@pytest.mark.parametrize(("ruler", "tokens"), [(Words(), 400), (Words(), 3000), (Letters(), 2500), (Letters(), 40_000)])
def test_length_is_as_promised(name, ruler, tokens):
    for sample in samples(name, tokens, 4, ruler=ruler):
        assert 0.9 * tokens <= ruler.count(sample.text) <= tokens


@pytest.mark.parametrize("name", task_names())
def test_seed_decides_everything(name):
    assert samples(name) == samples(name)
    assert samples(name, count=2) == samples(name, count=3)[:2]
    texts = {sample.text for seed in (1, 2) for sample in samples(name, seed=seed)}
    assert len(texts) == 6


def test_samples_are_the_same_in_every_process():
    """String hashes differ between processes; nothing may hang on them."""
    code = (
        "from tests.bench.test_tasks import samples, task_names;"
        "print([(s.question, s.answers, s.text[:50]) for name in task_names() for s in samples(name, 400, 2)])"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(said) == 1


@pytest.mark.parametrize("name", task_names())
def test_answers_stand_in_the_text_and_score_full_marks(name):
    for sample in samples(name, count=5):
        assert (sample.task, sample.number >= 0, bool(sample.source)) == (name, True, True)
        if sample.metric is None:
            assert name in ("summary", "writing")
            assert (sample.answers, sample.score("anything")) == ((), None)
            continue
        assert all(answer in sample.text for answer in sample.answers)
        assert sample.score("\n".join(sample.answers)) == 1.0
        assert sample.score("I could not find it.") < 0.2
        assert sample.score("") == 0.0


@pytest.mark.parametrize(
    ("name", "keys", "values", "asked"),
    [("niah", 1, 1, 1), ("niah-multikey", 15, 1, 1), ("niah-multivalue", 1, 4, 1), ("niah-multiquery", 4, 1, 4)],
)
def test_needles(name, keys, values, asked):
    """Every key and number once, those asked for with their numbers as answers, none mentioned elsewhere."""
    for sample in samples(name, 15 * 128, 4):
        found = re.findall(r"secret numbers? of ([a-z]+-[a-z]+) is (\d{7})\.", sample.text)
        assert len({key for key, _ in found}) == keys
        assert len({number for _, number in found}) == len(found) == keys * values
        questioned = re.findall(r"[a-z]+-[a-z]+", sample.question)
        assert len(questioned) == asked
        assert sorted(number for key, number in found if key in questioned) == sorted(sample.answers)


def test_a_part_of_the_numbers_is_a_part_of_the_score():
    sample = samples("niah-multiquery", count=1)[0]
    assert sample.score(f"{sample.answers[0]} and {sample.answers[3]}") == 0.5


def test_a_longer_text_than_there_are_keys_for():
    source = TextSource("own", ("one two three four. " * 50_000,))
    (sample,) = samples("niah-multikey", 320_000, 1, source=source)
    assert len(set(re.findall(r"[a-z]+-[a-z]+", sample.text))) == 48 * 48


def test_depths_are_spread():
    """Twelve needles: at least one in every sixth of the text."""
    found = [sample.text.index(sample.answers[0]) / len(sample.text) for sample in samples("niah", 2000, 12)]
    assert {int(6 * depth) for depth in found} == set(range(6))


def test_needles_stand_between_sentences():
    source = TextSource("own", ("A short sentence with e.g. eight words in it. " * 500,))
    for sample in samples("niah", 900, 5, source=source):
        before, after = re.split(r"The secret number of [a-z-]+ is \d{7}\.", sample.text)
        assert before == "" or before.endswith("in it. ")
        assert after.strip() == "" or after.lstrip().startswith("A short")


def test_questions_have_one_answer():
    """The paragraph asked about is there once and no other person has the name."""
    for sample in samples("qa", 3000, 8):
        (name,) = re.findall(r"[A-Z][a-z]+ [A-Z][a-z]+", sample.question)
        paragraphs = [paragraph for paragraph in sample.text.split("\n\n") if name in paragraph]
        assert len(paragraphs) == 1
        assert sample.answers[0] in paragraphs[0]
        assert len(sample.text.split("\n\n")) > 20


def test_what_is_copied_is_a_whole_section():
    for sample in samples("copying", 2000, 6):
        label = re.search(r"Section (\d+)", sample.question)[1]
        section = re.search(
            rf"^Section {label}\n\n(.*?)\n\nSection {int(label) + 1}$", sample.text, re.DOTALL | re.MULTILINE
        )[1]
        assert sample.answers == (section,)
        assert 60 <= Words().count(section) <= 200


def test_without_sections_copying_is_refused():
    with pytest.raises(UsageError, match="no whole section"):
        samples("copying", 60)


def test_a_text_without_blanks_is_hidden_in_too():
    """As Chinese is written: sentences end without a space, and other text may not end at all."""
    for text in ("它很长。" * 3000, "x" * 9000):
        (sample,) = samples("niah", 4000, 1, ruler=Letters(), source=TextSource("own", (text,)))
        assert sample.answers[0] in sample.text
        assert 3600 <= len(sample.text) <= 4000
    assert samples("summary", 300, 1, ruler=Letters(), source=TextSource("own", ("它很长。" * 100,)))


def test_a_source_that_is_too_short_is_refused():
    source = TextSource("notes.txt", ("one two three four. " * 100,))
    for name in set(task_names()) - {"qa"}:
        with pytest.raises(UsageError, match=r"notes\.txt has [\d,]+ tokens, and .*--data"):
            samples(name, 5000, source=source)


def test_too_few_tokens_for_the_needles_are_refused():
    with pytest.raises(UsageError, match=r"takes [\d,]+ of 60 tokens; ask for [\d,]+ or more"):
        samples("niah-multikey", 60)


def test_text_is_used_up_to_its_end():
    text = "one two three four. " * 100
    assert passage(Words(), text, 800, "it") == text
    assert Words().count(passage(Words(), text, 880, "it")) == 800


def test_lengths_are_corrected_where_the_end_counts_more():
    """A ruler that sees one token more in a cut text than in the same characters of the whole."""

    class Growing(Words):
        def count(self, text):
            return super().count(text) + 7

    for tokens in (100, 101, 500):
        text = passage(Growing(), "one two three four. " * 400, tokens, "it")
        assert 0.9 * tokens <= Growing().count(text) <= tokens
        hidden = Hidden(["Here it is."] * 3, [0.1, 0.5, 0.9])
        text = hide(Growing(), "one two three four. " * 400, hidden, 2 * tokens, "it")
        assert 1.8 * tokens <= Growing().count(text) <= 2 * tokens
        assert text.count("Here it is.") == 3


@pytest.mark.parametrize("name", task_names())
def test_little_is_tokenised(name):
    """Tokenising is what takes time: a few times the sample, not the whole source, and not once per sentence."""
    ruler = Words()
    sample = samples(name, 9000, 1, ruler=ruler)[0]
    assert ruler.read < 6 * len(sample.text)


def test_own_text(tmp_path):
    (tmp_path / "a.txt").write_text("Alpha beta gamma.\n\n" * 300)
    (tmp_path / "b.md").write_text("Delta epsilon zeta.\n\n" * 300)
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.7 nothing")
    told = []
    source = own_source(str(tmp_path), told.append)
    assert "broken.pdf" in " ".join(told)
    text = source.text(random.Random(1))
    assert (text.count("Alpha"), text.count("Delta")) in ((300, 300), (299, 300), (300, 299))
    assert {sample.source for sample in samples("niah", 700, source=source)} == {tmp_path.name}
    with pytest.raises(NoReadableInputError, match="no text"):
        own_source(str(tmp_path / "absent"), told.append)


def test_own_documents():
    documents = tuple(
        Document(f"{size}.txt", "0" * 64, "text/plain", (Page(1, "word " * size),)) for size in (10, 500, 20, 30)
    )
    told = []
    found = OwnDocuments(documents, told.append).samples(Words(), 100, 2, seed=1)
    assert [sample.source for sample in found] == ["10.txt", "20.txt"]
    assert found[0].text == documents[0].text
    assert told == ["left out 1 of 4 documents: longer than 100 tokens"]
    with pytest.raises(UsageError, match="no document has at most 5 tokens"):
        OwnDocuments(documents, told.append).samples(Words(), 5, 2, seed=1)


def test_unknown_task_names_the_choices():
    with pytest.raises(UsageError, match=r"no task 'needle'; choose one of niah, .*writing"):
        make_task("needle")


def test_tasks_import_nothing_heavy():
    code = (
        "import sys, spsl_cli.bench.tasks.catalogue; print([n for n in ('torch', 'transformers') if n in sys.modules])"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert output.stdout.strip() == "[]"


@pytest.fixture(scope="module")
def real():
    from transformers import AutoTokenizer  # noqa: PLC0415 seconds

    from spsl_cli.bench.tasks.ruler import TokenizerRuler  # noqa: PLC0415
    from spsl_cli.models import embedded_model_path  # noqa: PLC0415
    from spsl_cli.prompting.plain_tokenizer import plain_tokenizer  # noqa: PLC0415

    return TokenizerRuler(plain_tokenizer(AutoTokenizer.from_pretrained(embedded_model_path())).backend)


@pytest.mark.embedded
@pytest.mark.parametrize("name", task_names())
def test_with_a_real_tokenizer(real, name):
    for tokens in (512, 6000):
        for sample in samples(name, tokens, 2, ruler=real):
            assert 0.9 * tokens <= real.count(sample.text) <= tokens


@pytest.mark.embedded
def test_ruler(real):
    text = "Größe 你好 🙂🙂 and plain words " * 20
    total = real.count(text)
    assert real.cut(text, total) == real.cut(text, total + 5) == text
    assert real.cut(text, 0) == ""
    for tokens in range(1, total):
        cut = real.cut(text, tokens)
        assert text.startswith(cut)
        assert real.count(cut) <= tokens
