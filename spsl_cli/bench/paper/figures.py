"""Figures that the paper's text states (arXiv 2607.27735), each with where it stands; plots are not read off.

Setting of all, unless told otherwise: one A40 with 48 GB, bf16, prompts up to 64K tokens, 128 new ones, speedup over
the autoregressive decoding of Hugging Face transformers. Shares are in [0, 1].
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """A number, its unit (x, share, tokens/s, tokens, ms, AUC), what it is and where the paper states it."""

    value: float
    unit: str
    what: str
    where: str


_MAIN, _ABLATION = "Table 1, Primary comparison", "Table 3, Contribution of Adaptive Speculation Policy"
_SECTION_2, _DETAILS = "Fig. 2, Unified Speedup Analysis", "Implementation Details"
_BATCH, _SIZES = "Batch scaling (16K)", "Generalization across models and tasks (Table 2)"

PAPER: dict[str, Figure] = {
    "main speedup": Figure(2.79, "x", "Llama-3.1-8B, LongBench v2", _MAIN),
    "main acceptance": Figure(0.729, "share", "Llama-3.1-8B, LongBench v2", _MAIN),
    "main accepted": Figure(11.26, "tokens", "accepted a round, Llama-3.1-8B, LongBench v2", _MAIN),
    "main speedup infinitebench": Figure(2.60, "x", "Llama-3.1-8B, InfiniteBench", _MAIN),
    "main rate infinitebench": Figure(14.81, "tokens/s", "Llama-3.1-8B, InfiniteBench, adaptive", _ABLATION),
    "fixed rate infinitebench": Figure(14.75, "tokens/s", "Llama-3.1-8B, InfiniteBench, best fixed k", _ABLATION),
    "qwen speedup": Figure(1.95, "x", "Qwen2.5-7B, LongBench v2", _MAIN),
    "qwen speedup infinitebench": Figure(1.86, "x", "Qwen2.5-7B, InfiniteBench", _MAIN),
    "snapkv speedup": Figure(1.74, "x", "MagicDec-SnapKV, k = 2, LongBench v2", _MAIN),
    "snapkv acceptance": Figure(0.801, "share", "MagicDec-SnapKV, k = 2, LongBench v2", _MAIN),
    "snapkv accepted": Figure(1.59, "tokens", "accepted a round, MagicDec-SnapKV, k = 2", _MAIN),
    "snapkv speedup k16": Figure(0.36, "x", "MagicDec-SnapKV, k = 16, LongBench v2", _SECTION_2),
    "snapkv acceptance k16": Figure(0.063, "share", "MagicDec-SnapKV, k = 16, LongBench v2", _SECTION_2),
    "auxiliary acceptance": Figure(0.503, "share", "auxiliary draft model, LongBench v2", _MAIN),
    "layerskip speedup": Figure(0.77, "x", "LayerSkip, 60K LongBench", "Comparison with layer-skipping"),
    "layerskip acceptance": Figure(0.384, "share", "LayerSkip, 60K LongBench", "Comparison with layer-skipping"),
    "least speedup": Figure(1.55, "x", "least of models of 3B to 14B and four kinds of task", _SIZES),
    "greatest speedup": Figure(2.79, "x", "greatest of the same", _SIZES),
    "least acceptance": Figure(0.729, "share", "least of the same", _SIZES),
    "greatest acceptance": Figure(0.846, "share", "greatest of the same", _SIZES),
    "fixed acceptance k4": Figure(0.934, "share", "fixed k = 4, LongBench v2", _ABLATION),
    "fixed acceptance k20": Figure(0.679, "share", "fixed k = 20, LongBench v2", _ABLATION),
    "fixed speedup k12": Figure(2.69, "x", "fixed k = 12, the best fixed length, LongBench v2", _ABLATION),
    "niah fixed acceptance": Figure(0.686, "share", "RULER NIAH, fixed k = 10", _ABLATION),
    "niah adaptive acceptance": Figure(0.799, "share", "RULER NIAH, adaptive", _ABLATION),
    "niah fixed rate": Figure(17.11, "tokens/s", "RULER NIAH, fixed k = 10", _ABLATION),
    "niah adaptive rate": Figure(20.07, "tokens/s", "RULER NIAH, adaptive", _ABLATION),
    "best budget": Figure(0.10, "share", "best share of the positions for drafts", "Sensitivity to Compression Ratio"),
    "batch 1": Figure(1.10, "x", "batch 1", _BATCH),
    "batch 2": Figure(1.52, "x", "batch 2", _BATCH),
    "batch 4": Figure(2.45, "x", "batch 4", _BATCH),
    "magicdec batch 1": Figure(0.91, "x", "MagicDec, batch 1", _BATCH),
    "magicdec batch 2": Figure(1.24, "x", "MagicDec, batch 2", _BATCH),
    "magicdec batch 4": Figure(1.92, "x", "MagicDec, batch 4", _BATCH),
    "entropy auc": Figure(0.638, "AUC", "negative draft entropy, RULER QA1", _ABLATION),
    "entropy low": Figure(0.863, "share", "accepted in the bin of low entropy, RULER QA1", _ABLATION),
    "entropy high": Figure(0.621, "share", "accepted in the bin of high entropy, RULER QA1", _ABLATION),
    "refresh": Figure(41.1, "ms", "index update a round at 60K", _DETAILS),
    "controller share": Figure(0.005, "share", "upper bound of the controller's share of a round", _DETAILS),
}
