"""The decoder's part of the settings."""

from __future__ import annotations

from spsl_cli.config import Settings
from spsl_cli.decoding.config import DecodeConfig, SamplingConfig
from spsl_cli.errors import UsageError


def sampling_config(settings: Settings) -> SamplingConfig:
    """How tokens are chosen. Raises UsageError."""
    try:
        return SamplingConfig(settings.temperature, settings.top_p, settings.top_k, seed=settings.seed)
    except ValueError as error:
        raise UsageError(str(error)) from error


def decode_config(settings: Settings) -> DecodeConfig:
    """The decoder's part of the settings. Raises UsageError."""
    try:
        return DecodeConfig(
            budget=settings.budget,
            k=settings.k,
            controller=settings.controller,  # type: ignore[arg-type]  # checked by DecodeConfig
            lookup=settings.lookup,
            index=settings.index,  # type: ignore[arg-type]  # likewise
            speculation=settings.speculation,
        )
    except ValueError as error:
        raise UsageError(str(error)) from error
