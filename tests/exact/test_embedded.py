"""The embedded model on real text: every way to draft gives the plain loop's tokens, and those are Hugging Face's own.

The long run (`-m slow`) is 200 prompts of 60 to 2,000 tokens, 128 new tokens each, in batches of twenty, over every
controller with every index policy. Its texts come from the folder that `SPSL_TEST_DOCUMENTS` names, or are Python's own
reference topics.
"""

from __future__ import annotations

import os
from functools import cache
from itertools import product
from pathlib import Path
from pydoc_data.topics import topics

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from spsl_cli.comparison import first_difference
from spsl_cli.decoding.config import INDEXES, DecodeConfig
from spsl_cli.decoding.decoder import SparseSpecDecoder
from spsl_cli.documents import Document, Page, read_paths
from spsl_cli.models import embedded_model_path
from spsl_cli.prompting.layout import build_prompt

PARTS, ROWS, GENERATED = 10, 20, 4
WAYS = [
    DecodeConfig(index=index, importance=("window", "decayed")[number % 2], **how)
    for number, (index, how) in enumerate(
        product(INDEXES, [{"controller": "entropy"}, {}, {"k": 1}, {"k": 2, "lookup": True}, {"k": 4}, {"k": 8}])
    )
]
QUESTIONS = [
    "What is this text about?",
    "Quote the most important sentence of the text.",
    "List the main points of the text.",
    "Which names, numbers or dates does the text mention?",
]


@pytest.fixture(scope="module")
def embedded():
    path = embedded_model_path()
    model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32).eval()
    torch.set_num_threads(int(os.environ.get("SPSL_TEST_THREADS", os.cpu_count() or 1)))
    yield model, AutoTokenizer.from_pretrained(path)
    torch.set_num_threads(1)


@cache
def texts() -> list[str]:
    """Texts to cut prompts from, in a stable order; reading them takes a minute."""
    folder = os.environ.get("SPSL_TEST_DOCUMENTS")
    if folder is None:
        return ["\n\n".join(topics[name] for name in sorted(topics))]
    files = sorted(path for path in Path(folder).rglob("*") if path.suffix in (".txt", ".md", ".rst", ".pdf"))
    sizes = [path for path in files if 70_000 < path.stat().st_size < 700_000]
    found = [document.text for path in sizes for document in read_paths([str(path)]).documents]
    return [text for text in found if len(text) > 70_000]


def prompt_ids(tokenizer, sources: list[str], number: int, tokens: int) -> list[int]:
    """Prompt `number`, about `tokens` tokens from a place of its own."""
    text = sources[number % len(sources)]
    begin = (number * 7919 * 50) % max(1, len(text) - 8 * tokens)
    excerpt = tokenizer.decode(tokenizer(text[begin : begin + 12 * tokens])["input_ids"][:tokens])
    document = Document("excerpt.txt", "0" * 64, "text/plain", (Page(1, excerpt),))
    return build_prompt(tokenizer, [document], QUESTIONS[number % len(QUESTIONS)]).ids


def generated(model, prompts, new_tokens):
    """Hugging Face's own greedy tokens for each row; padded on the left, no token ends an output."""
    longest = max(map(len, prompts))
    ids = torch.tensor([[0] * (longest - len(prompt)) + prompt for prompt in prompts])
    mask = torch.tensor([[0] * (longest - len(prompt)) + [1] * len(prompt) for prompt in prompts])
    output = model.generate(
        ids, attention_mask=mask, do_sample=False, max_new_tokens=new_tokens, eos_token_id=None, pad_token_id=0
    )
    return output[:, longest:].tolist()


def forced(model, prompt, tokens):
    """What the model's own forward, without any cache, holds for the likeliest token before each of `tokens`."""
    with torch.inference_mode():
        ids = torch.tensor([prompt + tokens[:-1]])
        logits = model(ids, use_cache=False, logits_to_keep=len(tokens)).logits[0]
    return logits.argmax(-1).tolist()


def first_differences(model, name, prompts, tokens, wanted):
    """Where rows differ, told with the top-2 margin of the model's own logits there."""
    found = []
    for row, (ours, theirs) in enumerate(zip(tokens, wanted, strict=True)):
        at = first_difference(ours[: len(theirs)], theirs)
        if at is not None:
            with torch.inference_mode():
                logits = model(torch.tensor([prompts[row] + theirs[:at]]), logits_to_keep=1).logits[0, -1]
            best, second = logits.topk(2).values.tolist()
            found.append(f"{name}: row {row}, token {at}, margin {best - second:.1e}")
    return found


def compare(embedded, number, lengths, ways, new_tokens, generated_rows):
    """Differences of a batch of prompts from `number` on.

    The plain loop is compared with one forward of the model's own over prompt and output, which must hold every token
    for the likeliest, and its first rows with `generate`; every way to draft is compared with the plain loop.
    """
    model, tokenizer = embedded
    prompts = [prompt_ids(tokenizer, texts(), number + row, tokens) for row, tokens in enumerate(lengths)]
    run = SparseSpecDecoder(model).prepare(*prompts, max_new_tokens=new_tokens)
    list(run.prefill())
    list(run.decode(speculation=False))
    plain = [list(output.token_ids) for output in run.outputs]
    own = [forced(model, prompt, tokens) for prompt, tokens in zip(prompts, plain, strict=True)]
    differences = first_differences(model, "plain loop, forward", prompts, plain, own)
    few = slice(0, generated_rows)
    theirs = generated(model, prompts[few], new_tokens)
    differences += first_differences(model, "plain loop, generate", prompts[few], plain[few], theirs)
    drafted = 0
    for config in ways:
        run.rewind()
        list(run.decode(config=config))
        ours = [list(output.token_ids) for output in run.outputs]
        name = f"{config.index}, {config.importance}, k={config.k}"
        found = first_differences(model, name, prompts, ours, plain)
        stats = [run.stats(sequence) for sequence in range(len(prompts))]
        drafts, accepted = sum(row.drafted for row in stats), sum(row.accepted for row in stats)
        print(f"{name}: {accepted} of {drafts} accepted, differences: {found or 'none'}", flush=True)  # noqa: T201 record
        differences += found
        drafted += drafts
    return differences, drafted


@pytest.mark.embedded
@pytest.mark.parametrize(
    "ways", [WAYS[:1], pytest.param(WAYS[13:14], marks=pytest.mark.slow)], ids=["entropy", "vegas"]
)
def test_a_few_prompts(embedded, ways):
    differences, drafted = compare(embedded, 0, [150, 350], ways, 16, 2)
    assert differences == []
    assert drafted > 10


@pytest.mark.embedded
@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_two_hundred_prompts(embedded, part):
    """A part is twenty prompts of neighbouring lengths, and three of the ways to draft."""
    number = ROWS * part
    lengths = [round(60 * (2000 / 60) ** ((number + row) / (PARTS * ROWS - 1))) for row in range(ROWS)]
    print(f"\nprompts {number}-{number + ROWS - 1}, texts of {lengths[0]}-{lengths[-1]} tokens", flush=True)  # noqa: T201
    differences, drafted = compare(embedded, number, lengths, WAYS[part::PARTS], 128, GENERATED)
    assert differences == []
    assert drafted > 1000
