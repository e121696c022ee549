"""The model's own tokenizer, without the control tokens: how text that may hold anything is turned into ids.

A Hugging Face tokenizer first searches the text for the entries of its added-token table and only then splits what is
left into words and pieces. Here that second half stands alone, on the same model, so that `<|im_end|>` in a document
is seven ordinary pieces. It does not know what the text is for, nor that a vocabulary may still lead to a control
token by itself: `data_tokens` looks after that.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokenizers import AddedToken, Encoding, Tokenizer
from tokenizers.models import BPE

from spsl_cli.errors import UnsupportedModelError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast


@dataclass(frozen=True)
class PlainTokenizer:
    """A tokenizer that recognises no control token.

    `control_ids` are the ids that must not come out of data. `renamed` leads from this tokenizer's ids to the model's
    where the two differ (only for added tokens of white space, which stay).
    """

    backend: Tokenizer
    control_ids: frozenset[int]
    renamed: dict[int, int]

    def encode_batch(self, texts: list[str]) -> list[Encoding]:
        """Each text by itself; offsets count characters of that text. Ids still need `model_ids`."""
        return self.backend.encode_batch(texts, add_special_tokens=False)

    def model_ids(self, encoding: Encoding) -> list[int]:
        """The ids of `encoding` as the model numbers them."""
        ids: list[int] = encoding.ids
        return [self.renamed.get(token, token) for token in ids] if self.renamed else ids


def plain_tokenizer(tokenizer: PreTrainedTokenizerFast) -> PlainTokenizer:
    """Build it from `tokenizer`, whose vocabulary is shared, not copied.

    Raises UnsupportedModelError for a tokenizer without the `tokenizers` library behind it.
    """
    if not getattr(tokenizer, "is_fast", False):
        raise UnsupportedModelError(
            f"the model's tokenizer ({type(tokenizer).__name__}) is not one of the `tokenizers` library",
            hint="choose a model that comes with a tokenizer.json",
        )
    source: Tokenizer = tokenizer.backend_tokenizer
    shape = _without_dummy_prefix(source)
    backend = Tokenizer(source.model)
    if shape.normalizer is not None:
        backend.normalizer = shape.normalizer
    if shape.pre_tokenizer is not None:
        backend.pre_tokenizer = shape.pre_tokenizer
    table = tokenizer.added_tokens_decoder
    spaces = {number: token for number, token in table.items() if token.content.isspace()}
    # lstrip and rstrip would swallow the white space next to a token, and with it some of the text.
    backend.add_tokens([AddedToken(token.content, normalized=token.normalized) for token in spaces.values()])
    numbers = [(backend.token_to_id(token.content), number) for number, token in spaces.items()]
    return PlainTokenizer(
        backend=backend,
        control_ids=(frozenset(table) | frozenset(tokenizer.all_special_ids)) - frozenset(spaces),
        renamed={plain: number for plain, number in numbers if plain is not None and plain != number},
    )


def _without_dummy_prefix(source: Tokenizer) -> Tokenizer:
    """`source`'s normaliser and pre-tokeniser on an empty vocabulary, putting no space in front of a text.

    SentencePiece puts one there because it takes a text for a whole input; here a text is a piece of a longer one.
    """
    shape = Tokenizer(BPE())
    if source.normalizer is not None:
        shape.normalizer = source.normalizer
    if source.pre_tokenizer is not None:
        shape.pre_tokenizer = source.pre_tokenizer
    state = json.loads(shape.to_str())
    state["normalizer"] = _unprefixed(state["normalizer"])
    state["pre_tokenizer"] = _unprefixed(state["pre_tokenizer"])
    return Tokenizer.from_str(json.dumps(state))


def _unprefixed(part: dict[str, Any] | None) -> dict[str, Any] | None:
    """A component's JSON without what adds a space in front; None where nothing else is left."""
    if part is None or part["type"] == "Prepend":
        return None
    changed = dict(part)
    for parts in ("normalizers", "pretokenizers"):
        if parts in part:
            changed[parts] = [inner for inner in map(_unprefixed, part[parts]) if inner is not None]
    if "prepend_scheme" in part:
        changed["prepend_scheme"] = "never"
    if "add_prefix_space" in part:
        changed["add_prefix_space"] = False
    return changed
