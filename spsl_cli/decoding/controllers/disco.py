"""DISCO (Mamou et al. 2024, arXiv 2405.04304) as Hugging Face's assisted generation has it: a confidence threshold.

The draft ends with the first token whose probability in its own draft distribution is below 0.4, the default of
`assistant_confidence_threshold`. The paper itself trains a small classifier to say where to stop; Hugging Face's
threshold moves with the outcomes where scikit-learn is installed. Here it stays where it is, and nothing is trained.
"""

from __future__ import annotations

from spsl_cli.decoding.controllers.base import Evidence
from spsl_cli.decoding.controllers.stopping import StoppingRule

CONFIDENCE = 0.4
"""Probability of a drafted token below which its draft ends."""


class ConfidenceController(StoppingRule):
    """Until a token is unlikely; that token stays in the draft, as it does in Hugging Face's."""

    def goes_on(self, evidence: Evidence) -> bool:
        """While drafted tokens are likely."""
        return evidence.probability >= CONFIDENCE
