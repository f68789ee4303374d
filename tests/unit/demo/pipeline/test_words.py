from __future__ import annotations

from demo.pipeline.words import forecasts, recorded_in_all
from tests.unit.demo.pipeline.runs import forecast, pipeline


def test_totals_of_a_recording() -> None:
    text = recorded_in_all(pipeline())
    assert "1,234 commits of 1 group out of" in text
    assert "56 ends of logs" in text
    assert "3 candidates" in text
    assert "candidates" not in recorded_in_all(pipeline() | {"backtest": None})


def test_forecasts_beside_those_that_need_no_model() -> None:
    text = forecasts(forecast())
    assert "miss by 1.2 of the 2.5 records" in text
    assert "repeating the last hour would miss by 2.0" in text
    assert text.endswith("0.60 times that one, 0.80 times that of the best of five simple forecasts.")
