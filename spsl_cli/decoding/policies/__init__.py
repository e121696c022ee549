"""Which positions a draft reads: published designs as policies of one engine, so that they differ in nothing else."""

from __future__ import annotations

from spsl_cli.decoding.config import DecodeConfig
from spsl_cli.decoding.policies.base import Counted, IndexPolicy
from spsl_cli.decoding.policies.h2o import HeavyHitters
from spsl_cli.decoding.policies.per_query_head import PerQueryHead
from spsl_cli.decoding.policies.pillar import Pillar
from spsl_cli.decoding.policies.pyramidkv import PyramidKV
from spsl_cli.decoding.policies.quest import Quest
from spsl_cli.decoding.policies.snapkv import SnapKV
from spsl_cli.decoding.policies.sparsespec_l import SparseSpecL
from spsl_cli.decoding.policies.streaming import Streaming
from spsl_cli.decoding.policies.vegas import Vegas

__all__ = ["POLICIES", "Counted", "IndexPolicy", "make_policy"]

POLICIES: dict[str, type[IndexPolicy]] = {
    "sparsespec-l": SparseSpecL,
    "per-query-head": PerQueryHead,
    "vegas": Vegas,
    "pillar": Pillar,
    "snapkv": SnapKV,
    "streaming": Streaming,
    "quest": Quest,
    "h2o": HeavyHitters,
    "pyramidkv": PyramidKV,
}


def make_policy(config: DecodeConfig, layers: int = 1) -> IndexPolicy:
    """The policy that the configuration names, for so many layers with a view.

    One for each decoding, since some remember what they chose.
    """
    return POLICIES[config.index](config, layers)
