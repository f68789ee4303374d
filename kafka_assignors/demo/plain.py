"""Progress where there is no terminal: one line a step, and one every few seconds."""

from __future__ import annotations

import time
from typing import TextIO

from kafka_assignors.demo.watch import Snapshot

EVERY = 5.0  # s


class PlainView:
    """Prints lines.

    Args:
        stream: where to.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._last = time.monotonic()

    def __enter__(self) -> PlainView:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to undo."""

    def step(self, text: str) -> None:
        """Print what happened."""
        print(text, file=self._stream, flush=True)

    def update(self, snapshot: Snapshot) -> None:
        """Print a line when the last one is some seconds old."""
        if time.monotonic() - self._last < EVERY:
            return
        self._last = time.monotonic()
        running = sum(member.state == "running" for member in snapshot.members)
        lag = snapshot.lag[-1] if snapshot.lag else 0
        self.step(
            f"{snapshot.strategy}: {snapshot.phase} {snapshot.elapsed:.0f} s, "
            f"{running} members, {snapshot.processed:,} of {snapshot.sent:,} records, lag {lag:,}, "
            f"{snapshot.moves} moved"
        )
