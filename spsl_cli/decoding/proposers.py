"""Where drafts come from: earlier text, or the target model itself over the sparse view of its cache, or both.

Both: the sparse model checks looked-up tokens several at a time, which costs it little more than one of its own, and
its draft is what it would have drafted without them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from spsl_cli.decoding.chooser import Choice
from spsl_cli.decoding.config import K_MAX
from spsl_cli.decoding.controllers import Controller, Evidence
from spsl_cli.decoding.kv_cache import DecoderCache
from spsl_cli.decoding.lookup import Match
from spsl_cli.decoding.row import Row
from spsl_cli.decoding.target import TargetModel


@dataclass(frozen=True)
class DraftToken:
    """A drafted token, and what is known of it before the verify."""

    choice: Choice
    evidence: Evidence

    @property
    def token(self) -> int:
        """Its id."""
        return self.choice.token


Drafts = list[list[DraftToken]]
"""For each row its drafted tokens in order: as many for all, but for rows that have room or a match for fewer."""


def look_up(rows: Sequence[Row], length: int) -> Drafts:
    """Up to `length` tokens of earlier text for every row, for no row more than it has room for."""
    drafts: Drafts = []
    for row in rows:
        match = row.looked_up(limit=min(length, row.room))
        drafts.append([])
        if match is not None:
            evidence = Evidence(0.0, match=match.length)
            drafts[-1] += [DraftToken(Choice(token), evidence) for token in match.tokens]
    return drafts


class SparseSelfDraft:
    """Drafts by forwards over the gathered rows and those that this draft has written."""

    def __init__(self, target: TargetModel, cache: DecoderCache) -> None:
        self.target = target
        self.cache = cache

    def propose(self, rows: Sequence[Row], controller: Controller) -> tuple[Drafts, int]:
        """Tokens behind each pending one, as many as the controller wants, and how many forwards they took.

        No row gets more than it has room for. The controller sees what tokens are drawn from and whether lookup named
        them; a token once drawn stays in the draft. A row that has enough is run on beside the others, but nothing is
        chosen for it.
        """
        sequences = tuple(row.sequence for row in rows)
        drafts: Drafts = [[] for _ in rows]
        forwards = 0
        while True:
            wanting = [i for i, row in enumerate(rows) if len(drafts[i]) < min(row.room, K_MAX)]
            known = [[token.evidence for token in drafts[i]] for i in wanting]
            if not wanting or not controller.wants_more(known):
                return drafts, forwards
            matches = [self._guess(row, draft, controller) for row, draft in zip(rows, drafts, strict=True)]
            logits = self._forward(rows, sequences, drafts, matches)
            forwards += 1
            for i in wanting:
                self._choose(rows[i], drafts[i], matches[i], logits[i])

    def _guess(self, row: Row, draft: Sequence[DraftToken], controller: Controller) -> Match | None:
        """Looked-up tokens behind this draft: those to check at once, and one more to compare the next token with."""
        most = min(row.room, K_MAX) - len(draft)
        match = row.looked_up([token.token for token in draft], most)
        if match is None:
            return None
        return Match(match.length, match.tokens[: controller.guesses(match.length, most - 1) + 1])

    def _forward(
        self, rows: Sequence[Row], sequences: Sequence[int], drafts: Drafts, matches: Sequence[Match | None]
    ) -> torch.Tensor:
        """The last token of each draft and the guesses behind it, over the sparse view: logits [R, q, V]."""
        lines = []
        for row, draft, match in zip(rows, drafts, matches, strict=True):
            last = draft[-1].token if draft else row.pending
            lines.append([last, *(match.tokens[:-1] if match else ())])
        depths = [len(draft) for draft in drafts]
        ids = torch.tensor(filled_up(lines), device=self.target.device)
        return self.target.draft_forward(self.cache, ids, sequences, depths)

    def _choose(self, row: Row, draft: list[DraftToken], match: Match | None, logits: torch.Tensor) -> None:
        """Choose behind each input, as long as the model agrees with the guesses."""
        guessed = match.tokens if match else ()
        coverage = self.cache.coverage[row.sequence]
        for i in range(max(len(guessed), 1)):
            choice = row.chooser.choose(logits[i], [token.token for token in draft])
            agrees = bool(guessed) and choice.token == guessed[i]
            length = match.length + i if match else 0
            match_length = length if agrees else -length
            evidence = Evidence(choice.entropy, choice.margin, match_length, coverage, choice.probability)
            draft.append(DraftToken(choice, evidence))
            if not agrees:
                return


def filled_up(lines: Sequence[Sequence[int]]) -> list[list[int]]:
    """Lines of one length: the shorter ones repeat their last token."""
    longest = max(map(len, lines))
    return [[*line, *[line[-1]] * (longest - len(line))] for line in lines]
