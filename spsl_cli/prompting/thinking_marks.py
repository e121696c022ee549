"""Which marks a reasoning model puts around its thinking: read off its tokenizer's added tokens and its chat template.

Most models have none. This file does not read what a model writes; `thinking` does.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast


@dataclass(frozen=True, slots=True)
class Pair:
    """Two marks around a block of thinking; `label` is text behind the first that belongs to the mark."""

    opening: str
    closing: str
    label: str = ""


PAIRS = (
    Pair("<think>", "</think>"),  # DeepSeek R1, Qwen3, SmolLM3, GLM, Nemotron and most others
    Pair("[THINK]", "[/THINK]"),  # Mistral
    Pair("<thinking>", "</thinking>"),
    Pair("<thought>", "</thought>"),  # EXAONE Deep
    Pair("<reasoning>", "</reasoning>"),
    Pair("<seed:think>", "</seed:think>"),  # Seed-OSS
    Pair("◁think▷", "◁/think▷"),  # Kimi
    Pair("<|START_THINKING|>", "<|END_THINKING|>"),  # Command A
    Pair("<|inner_prefix|>", "<|inner_suffix|>"),  # Apertus
    Pair("<|begin_of_thought|>", "<|end_of_thought|>"),  # OpenThinker
    Pair("<|channel>", "<channel|>", label="thought\n"),  # Gemma 4
)

# gpt-oss ("harmony"): <|start|>assistant<|channel|>analysis<|message|>...<|end|>.
START, CHANNEL, MESSAGE = "<|start|>", "<|channel|>", "<|message|>"
ENDS = ("<|end|>", "<|return|>", "<|call|>")


@dataclass(frozen=True)
class Marks:
    """The marks of one model, empty for most.

    `tokens`: pairs that are tokens of the added-token table, by either token; of these, `control` leave no trace in
    text and act wherever they stand. Other pairs open a block at the beginning of the output only. `written`: pairs
    of the chat template that are ordinary text. `channels`: the tokens of gpt-oss' messages and which mark each is.
    """

    tokens: dict[int, Pair] = field(default_factory=dict)
    control: frozenset[int] = frozenset()
    written: tuple[Pair, ...] = ()
    channels: dict[int, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Whether the model marks its thinking at all."""
        return bool(self.tokens or self.written or self.channels)


def thinking_marks(tokenizer: PreTrainedTokenizerFast) -> Marks:
    """The marks that `tokenizer` knows as tokens or whose chat template names them."""
    ids = {token.content: number for number, token in tokenizer.added_tokens_decoder.items()}
    special = {number for number, token in tokenizer.added_tokens_decoder.items() if token.special}
    if {CHANNEL, MESSAGE} <= ids.keys():
        return Marks(channels={ids[mark]: mark for mark in (START, CHANNEL, MESSAGE, *ENDS) if mark in ids})
    template = tokenizer.chat_template or ""
    source = template if isinstance(template, str) else "\n".join(template.values())
    tokens: dict[int, Pair] = {}
    written: list[Pair] = []
    for pair in PAIRS:
        known = [ids[mark] for mark in (pair.opening, pair.closing) if mark in ids]
        if len(known) > 1:
            tokens |= dict.fromkeys(known, pair)
        elif special.isdisjoint(known) and (pair.opening in source or pair.closing in source):
            written.append(pair)
    return Marks(tokens, frozenset(special & tokens.keys()), tuple(written))
