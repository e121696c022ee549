"""Sections 1 to 4 of the report: speculative decoding, the KV cache, the sparse view, verification."""

# ruff: noqa: RUF001 - Greek letters and signs of mathematics are meant
from __future__ import annotations

from reportlab.platypus import Flowable, KeepTogether, Paragraph

from sparsespec_report.arithmetic import LLAMA, LLAMA_4BIT, SMOLLM, commit_probabilities, speedup
from sparsespec_report.figures import CURVE_COST, curves, peak_k, strip
from sparsespec_report.style import CAPTION, body, bullets, equation, heading, subheading, table

GIGA = 1e9
CPU_BYTES_PER_MS = 20 * GIGA / 1000


def speculative_decoding() -> list[Flowable]:
    alpha, gamma, k = 0.83, 0.32, 4
    figure = KeepTogether(
        [
            curves(),
            Paragraph(
                f"Figure 1. Speedup by Eq. 1 against draft length, for three per-token acceptances at a relative draft "
                f"cost of {CURVE_COST:.2f}. The best k is {peak_k(0.80)} at 0.80, {peak_k(0.90)} at 0.90 and "
                f"{peak_k(0.95)} at 0.95.",
                CAPTION,
            ),
        ]
    )
    return [
        heading("1. Speculative decoding"),
        subheading("One pass, one token"),
        body(
            "A language model writes one token at a time, a token being a word or a piece of one. To find the next "
            "token the processor must fetch all weights of the model from memory, and with them the keys and values "
            "stored for every position of the text so far: the KV cache. The arithmetic done on these bytes is quick; "
            "bringing them in is slow. So the pace is set by bytes moved. A pass that looks at five tokens at once "
            "moves almost the same bytes as a pass that looks at one, and plain autoregressive decoding (AR) never "
            "makes use of that."
        ),
        subheading("Guess, then check"),
        body(
            "Speculative decoding does. A cheap drafter guesses the next k tokens. The target model, the one whose "
            "answer is wanted, then reads all k guesses in a single forward pass, the verification, and tells for each "
            "place which token it would have written there itself. Guesses stand up to the first one that the target "
            "disagrees with; that one and all after it are dropped. One draft and one verification make a round."
        ),
        body(
            "Usually the drafter is a second, smaller model, which has to be found, loaded and kept in step. In "
            "self-speculation there is no second model: the target drafts for itself and merely looks at less of the "
            "text while doing so. SparseSpec-L, published as arXiv 2607.27735, is such a method, made for long "
            "documents. Sections 3 to 5 describe it; sections 2 and 6 show with plain arithmetic where it can win."
        ),
        subheading("When a draft pays"),
        body(
            "Two numbers decide. The acceptance rate α is the share of drafted tokens that stand. The relative draft "
            "cost γ is the time of one draft step divided by the time of one verification. If a verification takes as "
            "long as a plain step, the speedup S over plain decoding is"
        ),
        equation("S = (1 + αk) / (1 + γk)", 1),
        body(
            f"With α = {alpha:.2f}, γ = {gamma:.2f} and k = {k}, a round yields {1 + alpha * k:.2f} tokens for the "
            f"price of {1 + gamma * k:.2f} plain steps, so S = {speedup(alpha, gamma, k):.2f}. As long as α stays "
            "above γ, a longer draft is better; once α falls below γ, every further token costs more than it brings. "
            "And α does fall, because a guess that builds on guesses is less sure."
        ),
        body(
            "If each draft stands with the same probability, given that those before it stood, Eq. 1 gives curves "
            "that rise, turn and fall. Figure 1 shows three of them. The tops are flat, but not so flat that one "
            "fixed k would do for all texts: copying a name out of the document is easy, opening a new sentence is "
            "not."
        ),
        figure,
    ]


def kv_cache() -> list[Flowable]:
    rows = [
        [
            model.name,
            f"{model.kv_bytes_per_token:,}",
            f"{model.weight_bytes / GIGA:.2f} GB",
            f"{model.break_even_context:,} tokens",
        ]
        for model in (SMOLLM, LLAMA, LLAMA_4BIT)
    ]

    return [
        heading("2. Why a long context makes the KV cache the cost"),
        body(
            "The weights of a model are read once for each pass, whatever the length of the text. The KV cache grows "
            "with every position. For each position a model keeps one key and one value for each layer and each KV "
            "head, so the bytes of one token are 2 × layers × KV heads × head size × bytes of a number."
        ),
        body(
            f"SmolLM2-135M has 30 layers, 3 KV heads and a head size of 64. In fp32 a number takes 4 bytes, and one "
            f"token takes 2 × 30 × 3 × 64 × 4 = {SMOLLM.kv_bytes_per_token:,} bytes. Llama-3.1-8B has 32 layers, 8 KV "
            f"heads and a head size of 128; in bf16, at 2 bytes a number, that is {LLAMA.kv_bytes_per_token:,} bytes. "
            "The break-even context is the length at which the KV cache becomes as large as the weights."
        ),
        table(
            ["Model", "KV bytes per token", "Weights", "Break-even context"],
            rows,
            [0.37, 0.22, 0.16, 0.25],
            "Table 1. What decides the memory traffic of a decoding step. Computed from the sizes of the models; "
            "four-bit weights are counted as 4.5 bits, with their scales.",
        ),
        body(
            "Below its break-even context a model spends most of a step on weights, and leaving out KV rows saves "
            "little. Well above it the KV cache is nearly all there is to read. Smaller weights, by quantisation, move "
            f"the break-even down: from {LLAMA.break_even_context:,} to {LLAMA_4BIT.break_even_context:,} tokens for "
            "the 8B model. A larger batch does the same, since all rows of a batch share one reading of the weights "
            "while each row has a KV cache of its own."
        ),
        body(
            f"An example: SmolLM2 at 30,000 tokens reads {SMOLLM.weight_bytes / GIGA:.2f} GB of weights and "
            f"{30_000 * SMOLLM.kv_bytes_per_token / GIGA:.2f} GB of KV for every token. Memory that delivers 20 GB per "
            f"second needs {SMOLLM.step_bytes(30_000) / CPU_BYTES_PER_MS:.0f} ms for that, however fast the processor "
            f"is. At 7,000 tokens the same sum gives {SMOLLM.step_bytes(7_000) / CPU_BYTES_PER_MS:.0f} ms."
        ),
    ]


def sparse_view() -> list[Flowable]:
    context, budget, sink, recent = 20_000, 0.10, 4, 32
    kept = round(context * budget)
    figure = KeepTogether(
        [
            strip(),
            Paragraph(
                "Figure 2. A sparse view of sixty positions for one KV head. Another head of the same layer has other "
                "important positions.",
                CAPTION,
            ),
        ]
    )
    return [
        heading("3. The sparse view"),
        body(
            "While drafting, the model attends to a small choice of positions, the sparse view. How many is set by the "
            "budget, usually 10 % of the context. Three groups make up the view:"
        ),
        *bullets(
            "<b>Sink positions</b>, the very first of the text. Attention that has nowhere better to go settles on "
            "them, and a model deprived of them loses its balance.",
            "<b>Important positions</b>, those in between that have lately been looked at most.",
            "<b>Recent positions</b>, the newest ones, which carry the sentence being written.",
        ),
        figure,
        body(
            f"For example, with {context:,} positions, a budget of 10 %, {sink} sink and {recent} recent positions, a "
            f"draft reads {kept:,} rows, and {kept - sink - recent:,} of them are chosen for their importance. RoPE is "
            "no obstacle: stored keys already carry the rotation of their true position, so they are gathered as they "
            "are and never rotated again."
        ),
        subheading("Importance from attention mass"),
        body(
            "Which positions matter is not guessed by a heuristic; the model has just told. In a verification, each "
            "query position spreads an attention of 1 over all positions before it. The importance S of position i, "
            "for a layer l and a KV head h, is the attention that i received from the last W committed query "
            "positions:"
        ),
        equation("S(l, h, i) = Σ a(l, h, q → i), summed over the last W committed queries q", 3),
        body(
            "The importance window holds W = 16 committed query positions. Queries of rejected drafts never count, for "
            "they belong to a text that was not written. When a round commits fewer than 16 tokens, older queries stay "
            "in the window. For the first round the window is seeded with the last 16 positions of the prompt. Where "
            "several query heads share a KV head, their masses are added, and there is one index for each KV head."
        ),
        equation("index = sink ∪ top-K of S among the middle ∪ recent", 4),
        subheading("Nothing is thrown away"),
        body(
            "The whole KV cache stays in memory. The sparse view is a copy of some of its rows, made anew after each "
            "verification, so a position that was left out in one round can come back in the next. Methods that evict "
            "positions for good cannot do that: if page 3 seems dull while page 1 is summarised, it is gone when the "
            "question turns to page 3."
        ),
    ]


def verification() -> list[Flowable]:
    p, q = (0.5, 0.3, 0.2), (0.7, 0.2, 0.1)
    accepted, redrawn, total = commit_probabilities(p, q)
    rows = [
        [name, *(f"{column[i]:.2f}" for column in (p, q, accepted, redrawn, total))]
        for i, name in enumerate(("tide", "storm", "ferry"))
    ]
    return [
        heading("4. Verification, and why the output is the model's own"),
        subheading("Over the whole cache"),
        body(
            "Let T positions be committed: their rows in the KV cache are exact. One more token is decided but has no "
            "row yet, the pending token. A draft of k tokens is verified in one forward pass with k + 1 inputs, the "
            "pending token and the drafts, at positions T to T + k, over the whole cache. The rows that this pass "
            "computes overwrite all rows written while drafting, so no approximate row survives a round. To roll back, "
            "it is enough to shorten the recorded length."
        ),
        subheading("The bonus token"),
        body(
            "If m drafts stand, the pass has also computed what comes after the last of them, with the full context in "
            "view. That token is free: it is called the bonus token and becomes the next pending token. A round with m "
            "accepted drafts therefore gains m + 1 tokens."
        ),
        table(
            ["", "1", "2", "3", "4", "5"],
            [
                ["Draft", "leaves", "at", "nine", "sharp", ""],
                ["Target", "leaves", "at", "nine", "fifteen", ""],
                ["Outcome", "accepted", "accepted", "accepted", "rejected", "not looked at"],
                ["Written", "leaves", "at", "nine", "fifteen (bonus)", ""],
            ],
            [0.15, 0.14, 0.14, 0.14, 0.22, 0.21],
            "Table 2. A round with k = 4. Three drafts stand, the fourth is replaced by the bonus token: four tokens "
            "for one verification.",
            left=6,
        ),
        subheading("Exact, not nearly exact"),
        body(
            "Without sampling the argument is short. A draft stands only if it equals the token that the target, with "
            "the whole cache, ranks first at that place; the bonus token is such a token by construction. So every "
            "token written is the one that plain decoding would have written. A poor draft costs time, never a word."
        ),
        body(
            "With sampling, let p be the target's distribution and q the one the draft was drawn from. A drafted "
            "token x is accepted with probability min(1, p(x) / q(x)). After a rejection the replacement is drawn "
            "from the surplus max(0, p - q), scaled to sum to 1. Table 3 follows the probabilities for three "
            f"possible words: a draft is accepted in {100 * sum(accepted):.0f} % of all cases, and the two ways of "
            "being written add up to p exactly."
        ),
        table(
            ["Word", "Target p", "Draft q", "Written as draft", "Written as replacement", "Together"],
            rows,
            [0.15, 0.13, 0.13, 0.2, 0.24, 0.15],
            "Table 3. Speculative sampling for one token: the last column equals the target's distribution.",
        ),
        body(
            "One reservation concerns rounding. A pass over five rows adds numbers in another order than a pass over "
            "one. In fp32, greedy output was equal to plain decoding in every run of our prototype. In bf16, a "
            "near-tie between two top tokens flipped once; such a place is reported with its margin, not hidden."
        ),
    ]
