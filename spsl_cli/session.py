"""The stages of a run, each ready when it is first needed: documents, model, prompt, prefill. Says what happens.

What they are used for is the matter of `workflows`. The heavy imports happen when a stage begins, so that a missing
file is reported at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

from spsl_cli import threads, warm_start
from spsl_cli.answer import ModelFacts
from spsl_cli.config import Settings
from spsl_cli.decoder_settings import decode_config, sampling_config
from spsl_cli.dividing import fitting_prompt
from spsl_cli.documents import Collection, Selection
from spsl_cli.errors import NoReadableInputError
from spsl_cli.events import Event, Notice, Progress, Started
from spsl_cli.interrupt import Interrupts
from spsl_cli.model_facts import stop_token_ids
from spsl_cli.reading import read_documents
from spsl_cli.request import Request
from spsl_cli.reuse import Reuse, kv_store

if TYPE_CHECKING:
    from spsl_cli.decoding.constraint import MakeConstraint
    from spsl_cli.decoding.decoder import SparseSpecDecoder
    from spsl_cli.decoding.lean.stand_ins import Packing
    from spsl_cli.decoding.run import DecodingRun
    from spsl_cli.models import LoadedModel
    from spsl_cli.prompting.layout import Prompt

Report = Callable[[Event], None]
REASONS_SHOWN = 3


def cpu_kernels() -> str:
    """Which kernels attend on the CPU: "compiled by ...", or why torch's own do."""
    from spsl_cli.native.library import native_library  # noqa: PLC0415

    return native_library().reason


@dataclass(frozen=True)
class Prepared:
    """Everything that one decoding needs; `run` is not prefilled yet."""

    loaded: LoadedModel
    prompt: Prompt
    run: DecodingRun
    stop_ids: frozenset[int]

    @property
    def facts(self) -> ModelFacts:
        """The model as reports name it."""
        return _facts(self.loaded)


class Session:
    """The stages of one command, each done when it is first needed. `report` takes every event.

    `baselines`: the model is run outside the decoder as well, so it keeps its own weights beside packed ones.
    """

    def __init__(
        self, settings: Settings, report: Report, interrupts: Interrupts | None = None, *, baselines: bool = False
    ) -> None:
        self.settings = settings
        self._pack: Packing = "copy" if baselines else "replace"
        self._reuses = not baselines  # what is measured is computed
        self.config = decode_config(settings)
        self.sampling = sampling_config(settings)
        self.interrupts = interrupts or Interrupts()
        self.warnings: list[str] = []
        self.report = report
        self.ingest_s = self.load_s = 0.0
        self.reuse: Reuse | None = None
        self._begun, self._machine = time.perf_counter(), threads.now()
        self._common_warnings: int | None = None
        self._loaded: LoadedModel | None = None
        self._decoder: SparseSpecDecoder | None = None

    def read(
        self,
        paths: Sequence[str],
        stdin: BinaryIO | None = None,
        password: str | None = None,
        selection: Selection | None = None,
    ) -> Collection:
        """Read the documents. Raises NoReadableInputError, with the reasons, if there is none."""
        begun = time.perf_counter()
        collection = read_documents(paths, self.report, stdin=stdin, password=password, selection=selection)
        self.ingest_s = time.perf_counter() - begun
        if not collection.documents:
            reasons = [f"{skip.path}: {skip.reason}" for skip in collection.skipped]
            more = f" and {len(reasons) - REASONS_SHOWN} more" if len(reasons) > REASONS_SHOWN else ""
            raise NoReadableInputError(f"no readable input: {'; '.join(reasons[:REASONS_SHOWN])}{more}")
        for skip in collection.skipped:
            self.notice(f"skipped {skip.path}: {skip.reason}", warning=not skip.by_rule)
        for document in collection.documents:
            for text in document.notices:
                self.notice(f"{document.path}: {text}")
        return collection

    def load(self) -> LoadedModel:
        """Find, fetch if need be, and load the model; check that the decoder runs it exactly."""
        if self._loaded is not None:
            return self._loaded
        begun = time.perf_counter()
        self.report(Progress("start engine", 0, None))
        warm_start.finish()
        from spsl_cli import models  # noqa: PLC0415 these take seconds
        from spsl_cli.decoding.decoder import SparseSpecDecoder  # noqa: PLC0415
        from spsl_cli.native.library import native_library  # noqa: PLC0415

        stage_begun: dict[str, float] = {}

        def progress(stage: str, done: float, total: float | None, unit: str) -> None:
            now = time.perf_counter()
            self.report(Progress(stage, done, total, unit, now - stage_begun.setdefault(stage, now)))

        settings = self.settings
        fewer = threads.leave_cores_to_others(self._machine)
        if fewer:
            self.notice(fewer, warning=False)
        source = models.resolve(
            settings.model,
            revision=settings.revision,
            offline=settings.offline,
            device=settings.device,
            progress=progress,
        )
        for text in source.warnings:
            self.notice(text)
        if settings.model is None:
            self.notice(source.reason, warning=False)
        loaded = models.load(
            source, device=settings.device, dtype=settings.dtype, quantize=settings.quantize, progress=progress
        )
        if loaded.quantization and loaded.device == "cpu" and not native_library().functions:
            self.notice(f"quantised weights are slow here, made float32 at each step: {native_library().reason}")
        if self._reuses:
            store = kv_store(settings.cache_size, self.notice) if settings.cache else None
            self.reuse = Reuse(_facts(loaded), store)
        self._decoder = SparseSpecDecoder(loaded.model, self.config, pack=self._pack)
        self._loaded = loaded
        self.load_s = time.perf_counter() - begun
        return loaded

    def prepare(self, collection: Collection, request: Request, *others: Collection) -> Prepared:
        """Load the model, build the prompt, see that it fits, and set up its run. Decodes nothing yet.

        `others` become further rows of a batch; what is reported is about the first.
        """
        loaded = self.load()
        prompt, room = self.check_fits(collection, request)
        ids = [prompt.ids]
        for other in others:
            further, further_room = self.check_fits(other, request)
            ids.append(further.ids)
            room = min(room, further_room)
        for note in prompt.notes:
            self.notice(note)
        if room < (wanted := self.settings.max_new_tokens):
            self.notice(f"the answer may have {room} tokens instead of {wanted}: no more fit into the model's context")
        stop_ids = stop_token_ids(loaded)
        assert self._decoder is not None  # noqa: S101 loaded with the model
        run = self._decoder.prepare(
            *ids,
            max_new_tokens=room,
            sampling=self.sampling,
            stop_token_ids=stop_ids,
            constraint=_constraint(request, loaded, stop_ids),
        )
        self.report(_started(collection, request, loaded, run))
        return Prepared(loaded, prompt, run, stop_ids)

    @property
    def facts(self) -> ModelFacts:
        """The model as reports name it; loaded if it is not."""
        return _facts(self.load())

    def begin_answer(self) -> float:
        """When the answer began that is to be given now, on `time.perf_counter`: the first one with the session.

        Warnings of the answers before are forgotten; those of documents and model go with every answer.
        """
        if self._common_warnings is None:
            self.load()
            self._common_warnings = len(self.warnings)
            return self._begun
        del self.warnings[self._common_warnings :]
        self.ingest_s = self.load_s = 0.0
        return time.perf_counter()

    def prefill(self, run: DecodingRun, ends: Sequence[int] = ()) -> None:
        """Write the prompt into the cache, telling how far it is; what was read before is used again.

        `ends`: where parts of the prompt end with which other prompts begin too.
        """
        prefix = self.reuse.prefix_for(run, ends) if self.reuse is not None else None
        for filled in run.prefill(splits=ends, prefix=prefix):
            self.report(Progress("prefill", filled.done, filled.total, "tokens", filled.seconds))
        if run.reused:
            self.notice(f"{run.reused:,} of {len(run.prompt_ids):,} prompt tokens were read before", warning=False)

    def check_fits(self, collection: Collection, request: Request) -> tuple[Prompt, int]:
        """The prompt, and how many tokens may follow it. Raises PromptTooLongError if it does not fit."""
        loaded = self.load()
        return fitting_prompt(loaded.tokenizer, collection, request, self.settings, loaded.context_length)

    def notice(self, text: str, *, warning: bool = True) -> None:
        """Tell the user something; a warning is kept for the answer's JSON too."""
        if warning:
            self.warnings.append(text)
        self.report(Notice(text, warning=warning))


def _constraint(request: Request, loaded: LoadedModel, stop_ids: frozenset[int]) -> MakeConstraint | None:
    """What holds the answer to the schema, if it is to follow one."""
    if request.schema is None:
        return None
    from spsl_cli.structured import constraint_for  # noqa: PLC0415 only where a schema is given

    return constraint_for(request.schema, loaded.tokenizer, stop_ids)  # type: ignore[arg-type]  # as in `Request.prompt`


def _facts(loaded: LoadedModel) -> ModelFacts:
    return ModelFacts(loaded.id, loaded.revision, loaded.dtype, loaded.device, loaded.quantization)


def _started(collection: Collection, request: Request, loaded: LoadedModel, run: DecodingRun) -> Started:
    config = run.config
    return Started(
        command=request.title,
        model=loaded.id,
        device=loaded.device,
        dtype=loaded.dtype,
        documents=tuple(document.path for document in collection.documents),
        prompt_tokens=len(run.prompt_ids),
        max_new_tokens=run.max_new_tokens,
        controller=config.controller_name if config.speculation else "none",
        budget=config.budget,
        question=request.question,
        several=bool(request.note),
    )
