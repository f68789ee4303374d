"""The counters of a partition as integers."""

from __future__ import annotations

import pytest

from kafka_assignors.forecast.codec import decode, encode
from kafka_assignors.forecast.samples import Sample
from kafka_assignors.forecast.steps import Steps
from tests.unit.forecast.looks import SETTINGS, look


def counted(*samples: Sample) -> Steps:
    steps = Steps(SETTINGS)
    for sample in samples:
        list(steps.take(sample))
    return steps


LOOKS = [look(20 * n, 7 * n, 6 * n) for n in range(500)]


@pytest.mark.parametrize(
    "samples",
    [
        [],
        LOOKS,
        [*LOOKS, look(10_100, None, 5, begin=None), look(11_000, None, 5, begin=None)],  # a reset
        [*LOOKS, *(look(10_000 + 30 * n, None, 3_000 + n, begin=None) for n in range(9))],  # commits alone
        [look(20 * n, 7 * n) for n in range(500)],  # no group
    ],
    ids=["new", "steady", "reset", "commits alone", "no group"],
)
def test_decoded_counters_are_encoded_to_the_same_integers(samples: list[Sample]) -> None:
    ints = encode(counted(*samples))
    assert all(type(number) is int for number in ints)
    rest = iter([*ints, 7])
    assert encode(decode(rest, SETTINGS)) == ints
    assert list(rest) == [7], "it takes no more than its own"


def test_size_does_not_grow_with_time() -> None:
    steps, sizes = Steps(SETTINGS), []
    for n in range(20_000):
        list(steps.take(look(30 * n, 1000 * n, 10 * n)))
        if n >= 15_000:
            sizes.append(len(encode(steps)))
    assert max(sizes) <= 100
