"""``python -m demo``; ``make demo`` sets up what it needs first."""

from __future__ import annotations

from demo.command import command
from kafka_assignors.cli import run

if __name__ == "__main__":
    run(command, "demo")
