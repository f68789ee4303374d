"""The table of plans by lag."""

from __future__ import annotations

import numpy as np
import pytest

from bench.lag.lags import HEAD, KINDS, SHAPES, Case, Figures, lags_of, row
from kafka_assignors.plan import plan_cooperative_lag_aware, resolve


@pytest.mark.parametrize("shape", SHAPES)
def test_lags_are_records_and_always_the_same(shape: str) -> None:
    first, again = (lags_of(shape, 100, np.random.default_rng(3)) for _ in range(2))
    assert first.tolist() == again.tolist()
    assert len(first) == 100
    assert first.min() >= 0


def test_an_unknown_shape() -> None:
    with pytest.raises(ValueError, match="no shape 'round'"):
        lags_of("round", 10, np.random.default_rng(3))


@pytest.mark.parametrize("kind", KINDS)
def test_lags_change_places_and_the_plan_is_in_hand(kind: str) -> None:
    case = Case("pareto", 100, 5, kind, 1)
    group = case.group()
    plan = plan_cooperative_lag_aware(group, resolve(group))
    then = case.changed(group, plan)
    assert (resolve(then).owner == plan.owners).all()
    assert sorted(then.lag.tolist()) == sorted(group.lag.tolist())
    assert 0 < (then.lag != group.lag).sum() <= 10


def test_a_row_has_medians_and_the_worst() -> None:
    figures = [Figures(1.0, 2.0, True, 1.5, 1.0, 3, 1, 0, 5.0, 6.0)] * 2
    figures.append(figures[0]._replace(fresh=1.5, within=False, moved=6))
    cells = row("zipf", 1000, figures)
    assert len(cells) == len(HEAD)
    assert cells[:5] == ["zipf", "1,000", "1.000 / 1.500", "2.00 / 2.00", "67 %"]
    assert cells[7] == "4.0"
