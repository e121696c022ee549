"""`python -m spsl_cli`, and what the installed `spsl` runs."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and leave with its exit code."""
    try:
        from spsl_cli.cli.app import main as run  # noqa: PLC0415 Ctrl-C while this is imported ends quietly too

        code = run()
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)


if __name__ == "__main__":
    main()
