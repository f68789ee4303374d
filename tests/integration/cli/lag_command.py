"""Runs ``kafka-assignors lag``, once or watched."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from tests.support.command_line import COMMAND, ENV, refused_command, run_command

run, refused = partial(run_command, "lag"), partial(refused_command, "lag")


def lag(bootstrap: str, group_id: str, *words: str) -> Any:
    """Return the printed JSON; stderr must be empty."""
    done = run(group_id, "--bootstrap", bootstrap, "--output", "json", *words)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


@contextmanager
def watched(*words: str) -> Iterator[subprocess.Popen[str]]:
    """``kafka-assignors lag WORDS``, running."""
    with subprocess.Popen(
        [*COMMAND, "lag", *words], env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as program:
        try:
            yield program
        finally:
            program.kill()
