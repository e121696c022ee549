"""`python -m spsl_cli.bench.gpu_check`."""

from __future__ import annotations

import sys

from spsl_cli.bench.gpu_check.command import main

if __name__ == "__main__":
    sys.exit(main())
