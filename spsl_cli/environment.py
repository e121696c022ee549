"""`SPSL_*` environment variables that nothing reads: most likely a setting misspelt, which would be ignored in silence.

Knows their names only; values may be secret and are never told.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from spsl_cli.config import NAMES

_PREFIX = "SPSL_"
_TESTS = "SPSL_TEST_"  # read by the tests, never by a run
_OTHERS = ("SPSL_CACHE_DIR", "SPSL_NATIVE", "SPSL_PASSWORD", "SPSL_TRITON")
KNOWN = (*(f"{_PREFIX}{name.upper()}" for name in NAMES), *_OTHERS)
"""Every variable that a run reads."""


def unknown_variables(environ: Mapping[str, str]) -> list[str]:
    """One line for each variable of `environ` that looks like one of ours and is none, in the order of their names.

    An empty variable counts as not set, as everywhere.
    """
    ours = sorted(name for name, value in environ.items() if value and name.upper().startswith(_PREFIX))
    return [_line(name) for name in ours if name not in KNOWN and not name.startswith(_TESTS)]


def _line(name: str) -> str:
    """`name` is unknown: what may have been meant."""
    near = difflib.get_close_matches(name.upper(), KNOWN, n=1)
    advice = f"did you mean {near[0]}?" if near else "'spsl doctor' lists the settings"
    return f"the environment variable {name} is not known and has no effect: {advice}"
