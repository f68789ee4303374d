"""``make bench ARGS=pipeline``: the benchmarks of the pipeline on Spark, one after the other.

Each benchmark runs in a process with its own Spark session, and prints its own figures. Arguments name the
benchmarks to run (``record``, ``sampler``, ``model``, ``backtest``), by default all. docs/benchmarks.md
describes them. A module that is run alone takes options of its own.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence

from bench.programs import exit_on_sigterm

PARTS: dict[str, tuple[str, ...]] = {
    "record": (),
    "sampler": (),
    "model": ("--days", "42"),
    "backtest": (),
}
"""Part -> its arguments here.  docs/benchmarks.md has the command of each figure."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts until one fails; return its exit code, or 0."""
    parser = argparse.ArgumentParser(prog="make bench ARGS=pipeline", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"some of: {', '.join(PARTS)}")
    parts = parser.parse_args(arguments).parts or list(PARTS)
    if unknown := ", ".join(part for part in parts if part not in PARTS):
        parser.error(f"{unknown}: know {', '.join(PARTS)}")
    exit_on_sigterm()
    for part in parts:
        module = f"{__package__}.{part}"
        print(f"== {module} {' '.join(PARTS[part])}", flush=True)
        code = subprocess.run([sys.executable, "-m", module, *PARTS[part]], check=False).returncode
        if code:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
