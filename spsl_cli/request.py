"""What is wanted of documents."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spsl_cli.config import Settings
from spsl_cli.documents import Collection
from spsl_cli.prompting.wording import Cite, Stage, Task

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from spsl_cli.prompting.layout import Prompt, Turn
    from spsl_cli.prompting.user_template import UserTemplate


@dataclass(frozen=True)
class Request:
    """An answer to `question`, asked to `cite` or not, a summary (with `focus`, `length` in words), or an instruction.

    `stage`: from the whole documents, from a `part` of them, or, to `merge` them, from what was said of parts; `note`
    tells the user which. `turns` were asked and answered before, on the same documents. `template` words the request
    instead of us; the answer is JSON of `schema`, if there is one.
    """

    task: Task
    question: str | None = None
    focus: str | None = None
    length: int | None = None
    cite: Cite = "pages"
    stage: Stage = "whole"
    note: str = ""
    turns: tuple[Turn, ...] = ()
    template: UserTemplate | None = None
    schema: dict[str, Any] | None = None

    @property
    def title(self) -> str:
        """The command, and which stage of it this is."""
        return f"{self.task}, {self.note}" if self.note else self.task

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
            stage=self.stage,
            turns=self.turns,
            template=self.template,
            schema=None if self.schema is None else json.dumps(self.schema, ensure_ascii=False),
        )


def own_wording(settings: Settings) -> UserTemplate | None:
    """The template that the settings name, read and checked. Raises what `load_user_template` raises."""
    if settings.prompt_template is None:
        return None
    from spsl_cli.prompting.user_template import load_user_template  # noqa: PLC0415 not needed for --help

    return load_user_template(settings.prompt_template)
