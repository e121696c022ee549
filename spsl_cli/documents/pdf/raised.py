"""Small raised numbers behind a word or a number, which would otherwise read as more digits of it: 10⁶, note¹.

And a raised letter behind a letter that stands alone, as in a formula: R^(n). Ordinals and short forms stay: Nº, Me.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from spsl_cli.documents.pdf.runs import Run

_NUMBER = re.compile(r"(?=[^0-9]*[0-9])[-0-9+\u2212\u2013,;.()\[\]* ]+")
_SUPERSCRIPTS = str.maketrans("0123456789+-\u2212", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻")
_HAS_NUMBER = re.compile(r"[0-9]")
_ALONE = re.compile(r"(?<!\w)[^\W\d_]$")
_EXPONENT = re.compile(r"[b-df-np-zA-Z]")
_LONGEST = 16
# Parts of the size of what it stands behind: its own size, how far it is raised, and how near it stands.
_SMALLEST, _LARGEST = 0.4, 0.87
_LOWEST, _HIGHEST = 0.15, 0.75
_NEAREST, _FURTHEST = -0.3, 0.35
_SLASHES = ("/", "\u2044", "\u2215")


def raised(runs: Sequence[Run], direction: tuple[float, float]) -> dict[int, str]:
    """The texts of those of the runs of one line that are raised numbers, each by the run's index."""
    found: dict[int, str] = {}
    base: Run | None = None
    for at, run in enumerate(runs):
        text = run.text.strip()
        if not text:
            continue
        if base is None or not _is_raised(run, base, direction):
            base = run
        elif _HAS_NUMBER.search(text) and len(text) <= _LONGEST and _is_near(run, runs[at - 1], base, direction):
            if at + 1 < len(runs) and runs[at + 1].text.lstrip().startswith(_SLASHES):
                found[at] = f" {text}"
            else:
                found[at] = text.translate(_SUPERSCRIPTS) if _NUMBER.fullmatch(text) else f"^({text})"
        elif _EXPONENT.fullmatch(text) and _ALONE.search(base.text) and _is_near(run, runs[at - 1], base, direction):
            found[at] = f"^({text})"
    return found


def _is_raised(run: Run, base: Run, direction: tuple[float, float]) -> bool:
    if not _SMALLEST * base.size <= run.size <= _LARGEST * base.size:
        return False
    return _LOWEST * base.size <= run.height(direction) - base.height(direction) <= _HIGHEST * base.size


def _is_near(run: Run, before: Run, base: Run, direction: tuple[float, float]) -> bool:
    gap = run.along(direction)[0] - before.along(direction)[1]
    return _NEAREST * base.size <= gap <= _FURTHEST * base.size
