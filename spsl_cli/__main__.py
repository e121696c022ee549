"""`python -m spsl_cli`, and what the installed `spsl` runs."""

from __future__ import annotations

import sys

from spsl_cli.cli.app import main as run


def main() -> None:
    """Run the command line and leave with its exit code."""
    sys.exit(run())


if __name__ == "__main__":
    main()
