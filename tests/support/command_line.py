"""Runs ``kafka-assignors`` as another process."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.support.waiting import PATIENCE_S

COMMAND = (sys.executable, "-m", "kafka_assignors")
ENV = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "COLUMNS": "80"}


def run_command(*words: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run ``kafka-assignors WORDS`` to its end."""
    return subprocess.run(
        [*COMMAND, *words], env=ENV | env, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )


def refused_command(*words: str, **env: str) -> str:
    """Return the error of a command that ends with one line and exit code 1."""
    done = run_command(*words, **env)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    return done.stderr.removeprefix("kafka-assignors: ").strip()
