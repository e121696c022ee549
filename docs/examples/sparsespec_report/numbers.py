"""Sections 5 to 9 of the report: draft length, when it wins, measurements, limits, glossary."""

# ruff: noqa: RUF001 - Greek letters and signs of mathematics are meant
from __future__ import annotations

from reportlab.platypus import Flowable

from sparsespec_report.arithmetic import (
    LLAMA,
    LLAMA_4BIT,
    SMOLLM,
    Model,
    best_k,
    best_speedup,
    entropy_acceptance,
    per_token_acceptance,
    tokens_per_second,
)
from sparsespec_report.style import body, bullets, equation, facts, heading, lead, subheading, table

# Measured with the prototype at 30,000 tokens: ms of a draft step, a verification of five rows, a plain step.
DRAFT_MS, VERIFY_MS, PLAIN_MS = 60, 353, 185
ACCEPTED = {3: 0.81, 4: 0.83, 6: 0.74, 10: 0.61}


def draft_length() -> list[Flowable]:
    believed = entropy_acceptance(0.3, 0.4, 1.4)
    real = 0.91
    lengths = (1, 2, 3, 4, 6, 8, 10)

    def pace(probability: float) -> list[str]:
        return [f"{tokens_per_second(probability, k, DRAFT_MS, VERIFY_MS):.2f}" for k in lengths]

    def optimum(probability: float) -> int:
        return best_k(lambda k: tokens_per_second(probability, k, DRAFT_MS, VERIFY_MS))

    shares = [per_token_acceptance(share, k) for k, share in ACCEPTED.items()]
    return [
        heading("5. How long to draft"),
        body(
            "The best k moves from text to text and from sentence to sentence, so it is chosen anew in every round. "
            "The choice must be cheap, and it must be made before anybody knows which drafts will stand."
        ),
        subheading("The entropy controller"),
        body(
            "The published controller looks at the entropy H of the distribution from which each draft was taken. It "
            "keeps two running means, one over accepted and one over rejected drafts, each updated after a "
            "verification with a smoothing factor β:"
        ),
        equation("mean ← β mean + (1 - β) H", 6),
        lead("A new draft i counts as likely to stand if its entropy lies nearer to the mean of the accepted:"),
        equation("p(i) = exp(-|H(i) - H(acc)|) / [exp(-|H(i) - H(acc)|) + exp(-|H(i) - H(rej)|)]", 7),
        lead("and k* is the length that promises the most tokens for the time of the round:"),
        equation("k* = argmax [1 + p(1) + p(1)p(2) + ... + p(1)p(2)...p(k)] / [k C(d) + C(v)]", 8),
        body(
            "Here C(d) is the measured time of a draft step and C(v) that of a verification. Entropies exist only once "
            "the tokens are drafted, so the rule works as a stop signal: after each draft the known values are taken "
            "for what is drafted, an expected value for what is not, and drafting ends when k* is reached."
        ),
        subheading("Its known weakness"),
        body(
            "Eq. 7 has a ceiling. However clear a case is, p cannot exceed the sigmoid of the distance between the "
            f"two means: {entropy_acceptance(0, 0, 1):.3f} when they lie 1 nat apart, "
            f"{entropy_acceptance(0, 0, 2):.3f} at 2 nats, {entropy_acceptance(0, 0, 3):.3f} at 3. A draft with "
            f"entropy 0.3, where the means are 0.4 and 1.4, gets p = {believed:.2f}. The acceptance rates measured "
            f"with our prototype (section 7) correspond to {min(shares):.2f} to {max(shares):.2f} for each token. "
            "Believing too little, the controller stops too early. Table 4 shows what that costs."
        ),
        table(
            ["Tokens per second at k =", *map(str, lengths), "Best k"],
            [
                [f"if each stands with {believed:.2f}", *pace(believed), str(optimum(believed))],
                [f"if each stands with {real:.2f}", *pace(real), str(optimum(real))],
            ],
            [0.32, *([0.08] * len(lengths)), 0.12],
            f"Table 4. Eq. 8 with a draft step of {DRAFT_MS} ms and a verification of {VERIFY_MS} ms at every k. Who "
            f"believes {believed:.2f} stops at k = {optimum(believed)} and gets "
            f"{tokens_per_second(real, optimum(believed), DRAFT_MS, VERIFY_MS):.2f} tokens per second where "
            f"{tokens_per_second(real, optimum(real), DRAFT_MS, VERIFY_MS):.2f} were to be had.",
        ),
        body(
            "For this reason spsl does not use Eq. 7 by default. Its calibrated controller learns, while it runs, how "
            "often drafts like the present one were accepted, and it knows how the cost of a verification grows with "
            "k. It may also choose k = 0, which is plain decoding."
        ),
    ]


def arithmetic() -> list[Flowable]:
    budget, context = 0.10, 65_536

    def row(model: Model, length: int) -> list[str]:
        cost = model.draft_cost(length, budget)
        cells = [model.name, f"{length:,}", f"{cost:.2f}"]
        for acceptance in (0.90, 0.95):
            gain, k = best_speedup(acceptance, cost)
            cells.append(f"{gain:.2f} (k = {k})")
        return cells

    lengths = (context, 131_072)
    cases = [(SMOLLM, 7_000), (SMOLLM, 30_000), *((model, n) for model in (LLAMA, LLAMA_4BIT) for n in lengths)]
    gigabytes = [part / 1e9 for part in (LLAMA.weight_bytes, context * LLAMA.kv_bytes_per_token)]
    weights, cache = gigabytes
    return [
        heading("6. When it wins: the arithmetic"),
        body(
            "Suppose that time is proportional to bytes read. A plain step reads all weights and all KV rows; a draft "
            "step reads all weights and the budgeted share of the rows. The relative draft cost is"
        ),
        body("γ = (weights + budget × context × KV bytes) / (weights + context × KV bytes)."),
        body(
            f"Take Llama-3.1-8B in bf16 at {context:,} tokens. The weights are {weights:.2f} GB and the KV cache is "
            f"{cache:.2f} GB, so a plain step reads {weights + cache:.2f} GB. A draft step at a budget of 10 % reads "
            f"{weights + budget * cache:.2f} GB, and γ = {LLAMA.draft_cost(context, budget):.2f}: even at this length "
            "the weights hold the draft back. With four-bit weights γ drops to "
            f"{LLAMA_4BIT.draft_cost(context, budget):.2f}. Table 5 gives the best case."
        ),
        table(
            ["Model", "Context", "γ", "Speedup at 0.90", "Speedup at 0.95"],
            [row(model, length) for model, length in cases],
            [0.34, 0.14, 0.1, 0.21, 0.21],
            "Table 5. Ideal speedup for one sequence, at per-token acceptances of 0.90 and 0.95 and a budget of 10 "
            "%, with the best k in brackets. An upper bound: selection, gathering and a verification dearer than a "
            "plain step all come off it.",
        ),
        body(
            "Three rules follow. The gain grows as the context passes the break-even of Table 1. It is greater with "
            "quantised weights, and with batches: a batch of 4 counts like a context four times as long. And it is "
            "small or nothing on a short text, where only drafts that cost nothing can help. spsl has such drafts "
            "too: an answer often copies from its document, and a run of words found in the prompt can be proposed "
            "without any model pass and verified like any other draft."
        ),
    ]


def measurements() -> list[Flowable]:
    per_round = 1 + 4 * ACCEPTED[4]
    bare = 4 * DRAFT_MS + VERIFY_MS

    def against_plain(extra: int) -> str:
        return f"{per_round * PLAIN_MS / (bare + extra):.2f}"

    return [
        heading("7. Measured on two CPU cores"),
        body(
            "All figures of this section were measured with an early prototype on a machine with two CPU cores, "
            "running SmolLM2-135M-Instruct in fp32. They show where time goes; they are not the speed of the "
            "finished tool."
        ),
        table(
            ["Milliseconds", "7,000 tokens", "30,000 tokens"],
            [
                ["Plain step, Hugging Face loop", "202", "418"],
                ["Pass over five rows, Hugging Face loop", "250", "2,263"],
                ["Plain step, dense loop on packed buffers", "77", "185"],
                ["Draft step over the sparse view", "53", "60"],
                ["Verification of five rows, written naively", "138", "353"],
                ["Refresh of importance and index, written naively", "42", "150 to 800"],
                ["Acceptance rate at k = 4", "52 %", "83 %"],
            ],
            [0.56, 0.22, 0.22],
            "Table 6. Times of one step, measured with an early prototype. The budget was 10 % at 7,000 tokens and 7 "
            "% at 30,000, where the context was stretched with YaRN.",
        ),
        body(
            "The acceptance rate at 30,000 tokens was 81 % at k = 3, 83 % at k = 4, 74 % at k = 6 and 61 % at k = "
            f"10. At k = 4 a round yields {per_round:.2f} tokens in 4 × {DRAFT_MS} + {VERIFY_MS} = {bare} ms, before "
            f"any refresh. That is {against_plain(0)} times the pace of the dense loop. A refresh of 150 ms leaves "
            f"{against_plain(150)}, and one of 800 ms turns the gain into a loss: {against_plain(800)}. How the "
            "importance is gathered decides whether the method pays at all."
        ),
        table(
            ["Rows in the pass", "3 (plain)", "15 (k = 4)", "27 (k = 8)", "51 (k = 16)"],
            [
                ["Fused attention, packed rows", "3.9", "5.6", "7.7", "12.1"],
                ["Scores, softmax and product written out", "4.6", "8.4", "12.2", "15.8"],
            ],
            [0.4, 0.15, 0.15, 0.15, 0.15],
            "Table 7. Attention of one layer over 30,000 positions in milliseconds, measured with an early prototype "
            "(3 KV heads of size 64, fp32). The model has 30 such layers.",
        ),
        lead("Four more observations from the same machine:"),
        *bullets(
            "Finding the 2,100 most important of 30,000 positions for 3 heads took 0.21 ms with a partial sort in "
            "NumPy, and 0.64 to 0.84 ms with the top-k function of PyTorch.",
            "Gathering those rows took 0.12 ms with a flat index and 1.37 ms with an expanded one.",
            f"Memory delivered about 20 GB per second, so {SMOLLM.step_bytes(7_000) / 2e7:.0f} ms and "
            f"{SMOLLM.step_bytes(30_000) / 2e7:.0f} ms are the floors of a plain step at the two lengths. Of what lies "
            "above the floor, 20 to 25 ms a step is Python.",
            "Products of a bf16 matrix and a vector ran at 3.5 GB per second against 19 for fp32: on this CPU, fp32 "
            "is the faster choice.",
        ),
        body(
            f"The measured ratio of a draft step to a plain step is 53 / 77 = {53 / 77:.2f} at 7,000 tokens and 60 / "
            f"185 = {60 / 185:.2f} at 30,000. The byte count of section 6, at the budgets of Table 6, predicts "
            f"{SMOLLM.draft_cost(7_000, 0.10):.2f} and {SMOLLM.draft_cost(30_000, 0.07):.2f}. Counting bytes is a "
            "good guide."
        ),
    ]


def limits() -> list[Flowable]:
    return [
        heading("8. Limits"),
        *bullets(
            "<b>The first token is not sooner.</b> Reading the prompt, the prefill, is the same with and without "
            "speculation. Only the writing of the answer becomes faster.",
            "<b>It takes memory.</b> The whole KV cache stays, and the sparse view is a copy on top of it: about a "
            "tenth more at a budget of 10 %.",
            "<b>It does not make a model wiser.</b> The answer is the model's own, mistakes included.",
            "<b>Not every layer can be thinned.</b> Layers with a sliding window are already short and stay dense; "
            "models with recurrent layers are not supported.",
            "<b>Speedup depends on the baseline.</b> A slow plain loop makes any method look good. The two plain "
            "loops of Table 6 differ by a factor of more than two on the same machine; we compare with the faster "
            "one.",
            "<b>The measurements are few.</b> One small model, one processor, no GPU.",
        ),
    ]


def glossary() -> list[Flowable]:
    terms = [
        ("Acceptance rate (α)", "Accepted draft tokens divided by drafted ones."),
        ("AR", "Plain autoregressive decoding, one token for each pass."),
        ("Bonus token", "The token that a verification yields by itself, after the last accepted draft."),
        ("Break-even context", "The context length at which the KV cache is as large as the weights."),
        ("Budget", "How many KV positions a draft may read, as a share of the context or a number."),
        ("Committed token", "A token that stands and whose KV row is exact."),
        ("Importance window", "The last 16 committed query positions."),
        ("KV cache", "Keys and values of all positions so far, for every layer and KV head."),
        ("Nat", "The unit of entropy when natural logarithms are used."),
        ("Pending token", "A token that is decided but has no KV row yet."),
        ("Prefill", "The pass over the prompt before the first token is written."),
        ("Relative draft cost (γ)", "Time of a draft step divided by the time of a verification."),
        ("Round", "One draft and one verification."),
        ("Sink", "The first positions of a text, on which idle attention settles."),
        ("Sparse view", "The sink, important and recent positions that a draft reads."),
    ]
    return [heading("9. Glossary"), facts(terms, 0.28)]
