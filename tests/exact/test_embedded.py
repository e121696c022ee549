"""The embedded model on real text: every way to draft gives the plain loop's tokens, and those are Hugging Face's own.

The long run (`-m slow`) is 200 prompts of 60 to 3,000 tokens, 128 new tokens each, in batches of two to eight,
over every controller with every index policy. Its texts come from the folder that `SPSL_TEST_DOCUMENTS` names, or are
Python's own reference topics.
"""

from __future__ import annotations

import os
import time
from functools import cache
from itertools import product
from pathlib import Path
from pydoc_data.topics import topics

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from spsl_cli.decoding.config import INDEXES, DecodeConfig
from spsl_cli.decoding.decoder import SparseSpecDecoder
from spsl_cli.documents import Document, Page, read_paths
from spsl_cli.models import embedded_model_path
from spsl_cli.prompting.layout import build_prompt

PARTS, BATCHES = 10, (8, 6, 4, 2)
GENERATED = 2  # the batch of each part that `generate` decodes too
WAYS = [
    DecodeConfig(index=index, importance=importance, k=k)
    for k, importance, index in product(["auto", 1, 2, 4, 8], ["window", "decayed"], INDEXES)
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


def compare(model, decoder, prompts, config, new_tokens, *, generate=True):
    """Differences of one batch: ours against the plain loop, that against `generate`; with margins where it differs.

    Without `generate` against one forward over prompt and output instead, which is a tenth of the work: the same tokens
    would come, as each of them is the likeliest behind those before it.
    """
    run = decoder.prepare(*prompts, max_new_tokens=new_tokens)
    list(run.prefill())
    list(run.decode(speculation=False))
    plain = [list(output.token_ids) for output in run.outputs]
    run.rewind()
    list(run.decode(config=config))
    ours = [list(output.token_ids) for output in run.outputs]
    drafted = sum(run.stats(sequence).drafted for sequence in range(len(prompts)))
    accepted = sum(run.stats(sequence).accepted for sequence in range(len(prompts)))
    differences = []
    if generate:
        own = generated(model, prompts, new_tokens)
    else:
        own = [forced(model, prompt, tokens) for prompt, tokens in zip(prompts, plain, strict=True)]
    for row, expected in enumerate(own):
        for name, tokens, wanted in (("plain loop", plain[row], expected), ("drafting", ours[row], plain[row])):
            if tokens != wanted:
                at = next(i for i, pair in enumerate(zip(tokens, wanted, strict=True)) if len(set(pair)) > 1)
                with torch.inference_mode():
                    logits = model(torch.tensor([prompts[row] + wanted[:at]]), logits_to_keep=1).logits[0, -1]
                best, second = logits.topk(2).values.tolist()
                differences.append(f"{name}, row {row}, token {at}, margin {best - second:.1e}")
    return differences, drafted, accepted


@pytest.mark.embedded
@pytest.mark.parametrize("config", [WAYS[0], WAYS[-5]], ids=lambda config: f"{config.index} {config.k}")
def test_a_few_prompts(embedded, config):
    model, tokenizer = embedded
    sources = texts()
    prompts = [prompt_ids(tokenizer, sources, number, 150 + 200 * number) for number in range(2)]
    differences, drafted, _ = compare(model, SparseSpecDecoder(model), prompts, config, 16)
    assert differences == []
    assert drafted > 10


@pytest.mark.embedded
@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_two_hundred_prompts(embedded, part):
    """A part is twenty prompts of neighbouring lengths, four of them against `generate`, the others against a forward.

    Forty of the sixty ways to draft are met, a batch each.
    """
    model, tokenizer = embedded
    decoder, sources = SparseSpecDecoder(model), texts()
    number, found = 20 * part, []
    for batch, size in enumerate(BATCHES):
        config = WAYS[(part * len(BATCHES) + batch) * 13 % len(WAYS)]
        lengths = [round(60 * 50 ** ((number + row) / 199)) for row in range(size)]
        prompts = [prompt_ids(tokenizer, sources, number + row, tokens) for row, tokens in enumerate(lengths)]
        differences, drafted, accepted = compare(model, decoder, prompts, config, 128, generate=batch == GENERATED)
        found += differences
        print(  # noqa: T201 the record of the run
            f"prompts {number}-{number + size - 1} ({len(prompts[0])}-{len(prompts[-1])} tokens), {config.index}, "
            f"{config.importance}, k={config.k}: {accepted} of {drafted} accepted, "
            f"differences: {differences or 'none'}; {time.process_time():.0f} s of CPU so far",
            flush=True,
        )
        number += size
    assert found == []
