"""The messages that a test's code has logged."""

from __future__ import annotations

import logging

import pytest


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return the warnings and errors."""
    return [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]


def ours(caplog: pytest.LogCaptureFixture, least: int = logging.INFO) -> list[str]:
    """Return the messages of this package from a level on, without the line of each rebalance."""
    messages = [r.getMessage() for r in caplog.records if r.name == "kafka_assignors" and r.levelno >= least]
    return [line for line in messages if not line.startswith("rebalance ")]
