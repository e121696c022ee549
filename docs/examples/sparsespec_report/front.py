"""The first page: title, the report in brief, contents."""

from __future__ import annotations

from collections.abc import Sequence

from reportlab.platypus import Flowable, Paragraph, Spacer

from sparsespec_report.style import PLAIN_HEADING, SUBTITLE, TITLE, body, contents, facts

NAME = "Reading Long, Drafting Short"
SUBJECT = "The self-speculative decoding method behind spsl"


def front(sections: Sequence[tuple[str, int]]) -> list[Flowable]:
    """`sections`: heading and page of each section, for the contents."""
    return [
        Paragraph(NAME, TITLE),
        Paragraph(SUBJECT, SUBTITLE),
        Paragraph("A report of the spsl project, first edition", SUBTITLE),
        Spacer(1, 10),
        body(
            "A language model that answers a question about a long document spends most of its time fetching what it "
            "remembers of that document, once for every word it writes. This report explains how spsl writes several "
            "words for one such fetch, why the answer stays the same to the last letter, and when the trick is not "
            "worth playing. It uses no more mathematics than fractions and a few sums."
        ),
        Paragraph("In brief", PLAIN_HEADING),
        facts(
            [
                ("Method", "SparseSpec-L, in which one model both drafts and verifies."),
                ("A draft reads", "about 10 % of the KV cache: sink, important and recent positions."),
                ("A verification reads", "the whole KV cache, in one forward pass over all drafted tokens."),
                ("Importance window", "the last 16 committed query positions."),
                ("A round yields", "at least one token, at most k + 1: the accepted drafts and a bonus token."),
                ("The output is", "the model's own: equal tokens when greedy, equal distribution when sampling."),
                ("Draft length k", "chosen anew in every round by weighing expected tokens against time."),
                ("It needs no", "training, second model, or change of the weights."),
                ("It does not help", "short contexts, where weights, not the KV cache, fill the memory traffic."),
            ],
            0.24,
        ),
        Paragraph("Contents", PLAIN_HEADING),
        contents(sections),
    ]
