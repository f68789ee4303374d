from __future__ import annotations

from demo.figures.lag import lag_result, level
from demo.figures.ownership import Hold
from demo.figures.processing import sent_by_partition, stretches
from tests.unit.demo.story import S, done, sent


def test_lag_belongs_to_the_owner_of_the_moment() -> None:
    offered = sent_by_partition([sent(1, 0, 0, 9), sent(3, 1, 0, 4)])
    worked = stretches({"m1": [done(1, 2, 0, 0, 3)], "m2": [done(5, 6, 1, 0, 4)]}, 99 * S)
    spans = [Hold(0, 0, 4 * S, "m1"), Hold(0, 5 * S, 9 * S, "m2"), Hold(1, 0, 9 * S, "m2")]
    series = lag_result([0, 1 * S, 2 * S, 4 * S, 5 * S, 6 * S], offered, worked, spans)
    assert series["total"] == [0, 10, 6, 11, 11, 6]
    assert series["members"] == {"m1": [0, 10, 6, 0, 0, 0], "m2": [0, 0, 0, 5, 11, 6]}
    assert series["unowned"] == [0, 0, 0, 6, 0, 0]


def test_a_repeat_does_not_push_the_position_back() -> None:
    position = level([(1, 10), (2, 4), (3, 12)])
    assert [position(t) for t in (0, 1, 2, 3)] == [0, 10, 10, 12]
