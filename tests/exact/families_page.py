"""The tables of `docs/models.md`, made of those in `tests/exact/families.py`.

`python -m tests.exact.families_page` writes them into the page; a test fails while the two differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from spsl_cli.decoding.target import attention_windows
from tests.exact.families import FAMILIES, REFUSED, SINKS, make_config

PAGE = Path(__file__).parents[2] / "docs" / "models.md"


def compared_families() -> str:
    """One row a family: the layers of the model that was compared."""
    rows = []
    for family in sorted(FAMILIES):
        config = make_config(family)
        text = config.get_text_config(decoder=True)
        windows = attention_windows(config)
        marks = (None in windows, any(windows), family in SINKS, getattr(text, "attn_logit_softcapping", None))
        rows.append((f"`{family}`", *("yes" if mark else "" for mark in marks)))
    return _table(("Family", "Full", "Sliding", "Sinks", "Soft cap"), rows)


def refused_families() -> str:
    """One row a reason."""
    rows = [(reason, ", ".join(f"`{family}`" for family in families)) for reason, families in REFUSED.items()]
    return _table(("Reason", "Families"), rows)


def with_tables(page: str) -> str:
    """The page with both tables as they are now, between their marks. ValueError for a page without the marks."""
    for name, table in (("compared", compared_families()), ("refused", refused_families())):
        begin, end = f"<!-- {name}: made by tests/exact/families_page.py -->\n", f"<!-- end of {name} -->"
        if begin not in page or end not in page:
            raise ValueError(f"the page has no marks for the table {name!r}")
        head, _, rest = page.partition(begin)
        page = head + begin + table + end + rest.partition(end)[2]
    return page


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
