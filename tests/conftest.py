"""How hard the random tests search, and which tests share a worker of pytest-xdist."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import settings

# No deadline: the machines are shared, and the benchmark measures speed.
# `make test` has the first, `make test-all` the second; a law takes a multiple of it (``searching.times``).
settings.register_profile("quick", max_examples=30, deadline=None)
settings.register_profile("all", max_examples=400, deadline=None)
settings.load_profile("quick")

_TOGETHER = (
    r"tests/integration/demo/test_(?!demo_ends|backtest)",
    # Each worker starts a guarded broker of its own, so most tests that use it share three workers.
    r"tests/integration/(cli|lag)/(?:exporter/)?test_(?:exporter|feed|lag|lag_aware_faults|lag_faults|plan_lag|watch)\.",
    r"tests/integration/stateful/test_(?:cluster|setup)\.",
    # Two halves of the hour of chaos: each run has a broker and two dozen members.
    r"tests/integration/chaos/.*\[(\w+)-",
)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keep a file's tests on one worker; and the tests that share a demo's run or a broker.

    A pattern's tests share a worker if its groups match the same text.
    """
    from xdist.scheduler import LoadFileScheduling

    class Together(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            for pattern in _TOGETHER:
                if match := re.match(pattern, nodeid):
                    return "".join([pattern, *match.groups()])
            return str(super()._split_scope(nodeid))

    return Together(config, log)
