from __future__ import annotations

import pytest
from hypothesis import settings

from tests import oracle

settings.register_profile("laws", max_examples=200, deadline=None)
settings.load_profile("laws")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many plans the oracle has judged, and how."""
    if oracle.scored:
        judged = ", ".join(f"{count:,} by {how}" for how, count in sorted(oracle.scored.items()))
        terminalreporter.write_line(f"oracle: {sum(oracle.scored.values()):,} optima: {judged}")
