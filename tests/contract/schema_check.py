"""Compares files with schemas."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support.waiting import PATIENCE_S


def schema_check(file: Path, *options: str | Path) -> str:
    """Return the errors that ``check-jsonschema`` finds in a file; empty if the file is valid."""
    done = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", *options, file],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    output = done.stdout + done.stderr
    assert done.returncode in {0, 1}, output
    return output if done.returncode else ""
