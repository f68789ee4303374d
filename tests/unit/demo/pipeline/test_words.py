from __future__ import annotations

from demo.pipeline.words import recorded_in_all
from tests.unit.demo.pipeline.runs import pipeline


def test_totals_of_a_recording() -> None:
    text = recorded_in_all(pipeline())
    assert "1,234 commits of 1 group out of" in text
    assert "56 ends of logs" in text
    assert "3 candidates" in text
    assert "candidates" not in recorded_in_all(pipeline() | {"backtest": None})
