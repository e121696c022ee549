"""What is wanted of documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from spsl_cli.documents import Collection

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from spsl_cli.prompting.layout import Cite, Prompt


@dataclass(frozen=True)
class Request:
    """An answer to `question`, asked to `cite` or not, or a summary (with `focus`, `length` in words)."""

    task: Literal["ask", "summarize"]
    question: str | None = None
    focus: str | None = None
    length: int | None = None
    cite: Cite = "pages"

    def prompt(self, tokenizer: PreTrainedTokenizerBase, collection: Collection, system: str | None) -> Prompt:
        """The whole prompt for these documents. Raises what `build_prompt` raises."""
        from spsl_cli.prompting.layout import build_prompt  # noqa: PLC0415 seconds

        return build_prompt(
            tokenizer,  # type: ignore[arg-type]  # every tokenizer of transformers 5 is of the class it takes
            collection.documents,
            self.question,
            system=system,
            task=self.task,
            focus=self.focus,
            length=self.length,
            cite=self.cite,
        )
