"""The user data of the strategies that plan by lag."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_assignors.errors import CodecError
from kafka_assignors.plan import NO_GENERATION, TopicPartition
from kafka_assignors.wire import lag_user_data

LAGS = {TopicPartition("orders", 0): 7, TopicPartition("orders", 300): 70_000, TopicPartition("pay", 1): 0}

partitions = st.builds(TopicPartition, st.text(min_size=1, max_size=5), st.integers(0, 2**31 - 1))


def test_bytes_of_version_0() -> None:
    """Each topic uses the narrowest numbers that hold its largest."""
    data = lag_user_data.encode({"t": [3]}, 5, LAGS, 1500)
    assert data.hex(" ", 1) == " ".join(
        (
            "00 00 00 00 00 05 00 00 00 01 00 01 74 00 00 00 01 00 00 00 03",  # history
            "00 00 00 00 05 dc 00 00 00 02",  # version, age, topics
            "00 06 6f 72 64 65 72 73 00 00 00 02 02 04 00 00 01 2c 00 00 00 07 00 01 11 70",
            "00 03 70 61 79 00 00 00 01 01 01 01 00",
        )
    )
    assert lag_user_data.decode(data) == ({"t": [3]}, 5, LAGS, 1500)


@given(st.dictionaries(partitions, st.integers(0, 2**63 - 1), max_size=20), st.integers(0, 2**31 - 1))
def test_decode_reverses_encode(lags: dict[TopicPartition, int], age_ms: int) -> None:
    data = lag_user_data.encode({}, NO_GENERATION, lags, age_ms)
    assert lag_user_data.decode(data) == ({}, NO_GENERATION, lags, age_ms)


def test_only_the_heaviest_partitions_are_sent() -> None:
    """The broker keeps all members' user data in one message."""
    many = {TopicPartition("t", p): p for p in range(5_000)}
    data = lag_user_data.encode({}, 1, many, 0)
    assert len(data) < 4_100
    sent = lag_user_data.decode(data)[2]
    assert sent == {
        partition: lag for partition, lag in many.items() if lag >= 5_000 - lag_user_data.MOST_PARTITIONS
    }


def test_a_huge_age_is_clipped() -> None:
    assert lag_user_data.decode(lag_user_data.encode({}, 1, {}, 1e300))[3] == 2**31 - 1


def test_a_huge_lag_is_clipped() -> None:
    data = lag_user_data.encode({}, 1, {TopicPartition("t", 0): 2**70}, 0)
    assert lag_user_data.decode(data)[2] == {TopicPartition("t", 0): 2**63 - 1}


GOOD = lag_user_data.encode({"t": [3]}, 5, LAGS, 1500)
START = len(lag_user_data.encode({"t": [3]}, 5, {}, 0)) - 10  # of the lag section


@pytest.mark.parametrize(
    "data",
    [
        b"",
        GOOD[:-1],
        GOOD + b"\0",
        GOOD[:START] + b"\0\1" + GOOD[START + 2 :],  # another version
        GOOD[: START + 2] + b"\xff\xff\xff\xff" + GOOD[START + 6 :],  # a negative age
        GOOD[: START + 6] + b"\x7f\xff\xff\xff" + GOOD[START + 10 :],  # more topics than bytes
        GOOD[: START + 22] + b"\3" + GOOD[START + 23 :],  # an unknown width
        GOOD[: START + 18] + b"\x7f\xff\xff\xff" + GOOD[START + 22 :],  # more partitions than bytes
        GOOD[: START + 18] + b"\xff\xff\xff\xff" + GOOD[START + 22 :],
    ],
)
def test_invalid_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(CodecError, match="lag user data: "):
        lag_user_data.decode(data)


def test_a_negative_lag_is_refused() -> None:
    data = lag_user_data.encode({}, 1, {TopicPartition("t", 0): 2**62}, 0)
    with pytest.raises(CodecError, match="negative"):
        lag_user_data.decode(data[:-8] + b"\xff" * 8)


@given(st.binary(max_size=80))
def test_random_bytes_are_read_or_refused(data: bytes) -> None:
    with suppress(CodecError):
        lag_user_data.decode(data)
