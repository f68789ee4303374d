from __future__ import annotations

from typing import Any

import pytest

from tests.support.plan import oracle


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Send a worker's counts to the process that started it (pytest-xdist)."""
    if (output := getattr(session.config, "workeroutput", None)) is not None:
        output["scored"] = dict(oracle.scored)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Add up the counts of the workers."""
    oracle.scored.update(getattr(node, "workeroutput", {}).get("scored", {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how many plans the oracle judged, by method."""
    if oracle.scored:
        judged = ", ".join(f"{count:,} by {how}" for how, count in sorted(oracle.scored.items()))
        terminalreporter.write_line(f"oracle: {sum(oracle.scored.values()):,} optima: {judged}")
