"""The user data of members of large groups that plan by lag."""

from __future__ import annotations

import random
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_assignors.errors import CodecError
from kafka_assignors.plan import TopicPartition
from kafka_assignors.wire import compact_lag_user_data, compact_ownership, lag_user_data
from kafka_assignors.wire.compact_lag_user_data import LagUserData
from kafka_assignors.wire.primitives import int32

PLENTY = 10**6

topics = st.dictionaries(
    st.text(min_size=1, max_size=4), st.sets(st.integers(0, 2**31 - 1), min_size=1, max_size=9), max_size=4
)
amounts = st.integers(0, 2**63 - 1)


def partitions_of(owned: dict[str, set[int]]) -> list[TopicPartition]:
    return [TopicPartition(topic, p) for topic in sorted(owned) for p in sorted(owned[topic])]


@given(topics, st.data(), st.integers(-1, 2**31 - 1), st.booleans(), st.floats(2.0**-10, 1024))
def test_decode_reverses_encode(
    owned: dict[str, set[int]], data: st.DataObject, generation: int, still_owns: bool, capacity: float
) -> None:
    """Claims are exact, lags within 9 % and half a record.  Some partitions have no known lag."""
    known = [partition for partition in partitions_of(owned) if data.draw(st.booleans())]
    lags = {partition: data.draw(amounts) for partition in known}
    claimed = {topic: sorted(numbers) for topic, numbers in owned.items()}
    report = LagUserData(claimed, generation, lags, 1500, capacity, still_owns)
    for given_report in (report, report._replace(claimed={}, still_owns=False)):
        sent = lag_user_data.decode(compact_lag_user_data.encode(given_report, PLENTY))
        assert sent == given_report._replace(
            lags=sent.lags, capacity=sent.capacity, reads_budget=True, has_budget=True
        )
        assert abs(sent.capacity - capacity) <= 1 / 2048
        assert sent.lags.keys() == lags.keys()
        for partition, lag in sent.lags.items():
            assert abs(lag - lags[partition]) <= 0.0906 * lags[partition] + 0.5


def test_small_lags_are_exact() -> None:
    """Random lags are seldom small."""
    lags = {TopicPartition("t", p): p for p in range(4)}
    data = compact_lag_user_data.encode(LagUserData({}, 1, lags, 0), PLENTY)
    assert lag_user_data.decode(data).lags == lags


def test_bytes_of_claims_and_lags() -> None:
    """A byte a partition: lag 0 is 1, unknown is 0, lag 8 is 2 + 4 * 3."""
    lags = {TopicPartition("t", 0): 0, TopicPartition("t", 2): 8}
    report = LagUserData({"t": [0, 1, 2]}, 5, lags, 1500, 2.0, still_owns=True)
    data = compact_lag_user_data.encode(report, PLENTY)
    set_of = compact_ownership.pack(report.claimed)
    head = b"\0\1\0\0\0\5\1" + set_of + int32(1500) + int32(2048) + b"\0"
    assert data[: len(head)] == head
    packed = zlib.compress(b"\1\0\x0e", 9)
    assert data == head + int32(len(packed)) + packed + int32(0)
    rates = {TopicPartition("t", 2): 4.0, TopicPartition("t", 1): 4.0}  # the lag of 1 is unknown
    data = compact_lag_user_data.encode(report._replace(rates=rates), PLENTY)
    more = zlib.compress(bytes([0, 0, 2 + 8 * 12]), 9)
    assert data == head + int32(len(packed)) + packed + int32(len(more)) + more
    assert lag_user_data.decode(data).rates == {TopicPartition("t", 2): 4.0}


def test_bytes_of_a_service_rate() -> None:
    """The negative byte of 2^(56 / 8) records a second, and of none, in place of the capacity."""
    for rate, units in ((128.0, -138), (0.0, -1)):
        data = compact_lag_user_data.encode(LagUserData({}, 5, {}, 0, service_rate=rate), PLENTY)
        plain = compact_lag_user_data.encode(LagUserData({}, 5, {}, 0, 2.0), PLENTY)
        assert data == plain.replace(int32(2048), int32(units))
        sent = lag_user_data.decode(data)
        assert (sent.capacity, sent.service_rate) == (1.0, rate)
        broken = lag_user_data.decode(plain.replace(int32(2048), int32(-256)))
        assert (broken.capacity, broken.service_rate) == (-0.25, None)


@pytest.mark.parametrize("still_owns", [True, False])
def test_heaviest_partitions_that_fit_are_sent(still_owns: bool) -> None:
    """Claims are complete whatever the budget is; lags fill it, the largest first."""
    rng = random.Random(3)
    numbers = sorted(rng.sample(range(100_000), 1_000))
    lags = {TopicPartition("t", p): round(rng.paretovariate(1)) * 1_000 + p for p in numbers}
    report = LagUserData({"t": numbers} if still_owns else {}, 1, lags, 0, still_owns=still_owns)
    whole = len(compact_lag_user_data.encode(report, PLENTY))
    known = 0
    for budget in (0, whole * 7 // 10, whole * 8 // 10, whole * 9 // 10, whole):
        data = compact_lag_user_data.encode(report, budget)
        sent = lag_user_data.decode(data)
        assert (sent.claimed, sent.still_owns) == (report.claimed, still_owns)
        assert not sent.lags or len(data) <= budget
        assert len(sent.lags) >= known
        known = len(sent.lags)
        least = min((lags[partition] for partition in sent.lags), default=max(lags.values()))
        assert all(lag <= least for partition, lag in lags.items() if partition not in sent.lags)
    assert known == 1_000


def test_takes_a_quarter_of_the_plain_form() -> None:
    """1,000 of 100,000 partitions with their lag: 14 KB with the list of the subscription."""
    rng = random.Random(3)
    numbers = sorted(rng.sample(range(100_000), 1_000))
    lags = {TopicPartition("t", p): rng.randrange(10**6) for p in numbers}
    plain = 4 * len(numbers) + len(lag_user_data.encode(LagUserData({}, 1, lags, 0)))
    compact = compact_lag_user_data.encode(LagUserData({"t": numbers}, 1, lags, 0, still_owns=True), PLENTY)
    assert len(compact) < plain / 5


GOOD = compact_lag_user_data.encode(
    LagUserData({"t": [3]}, 5, {TopicPartition("t", 3): 7}, 1500, still_owns=True), PLENTY
)
AFTER = 7 + len(compact_ownership.pack({"t": [3]}))  # the claims


@pytest.mark.parametrize(
    "data",
    [
        *(GOOD[:-1], GOOD + b"\0", b"\0\1"),
        b"\0\2" + GOOD[2:],  # another version
        GOOD[:6] + b"\2" + GOOD[7:],  # an unknown flag
        GOOD[:AFTER] + int32(-1) + GOOD[AFTER + 4 :],  # a negative age
        GOOD[: AFTER + 8] + b"\2" + GOOD[AFTER + 9 :],
        GOOD[: AFTER + 9] + int32(len(zlib.compress(b"\1\1"))) + zlib.compress(b"\1\1"),  # two lags of one
        GOOD[: AFTER + 9] + int32(-1),
    ],
)
def test_invalid_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(CodecError, match="lag user data: "):
        lag_user_data.decode(data)
