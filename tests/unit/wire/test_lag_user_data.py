"""The user data of the strategies that plan by lag."""

from __future__ import annotations

import math
import zlib
from base64 import b85encode
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_assignors.errors import CodecError
from kafka_assignors.plan import NO_GENERATION, TopicPartition
from kafka_assignors.wire import history, lag_user_data, rates
from kafka_assignors.wire.compact_lag_user_data import LagUserData
from kafka_assignors.wire.primitives import Reader, int32

LAGS = {TopicPartition("orders", 0): 7, TopicPartition("orders", 300): 70_000, TopicPartition("pay", 1): 0}

partitions = st.builds(TopicPartition, st.text(min_size=1, max_size=5), st.integers(0, 2**31 - 1))


def with_property(*names: bytes) -> bytes:
    """User data of a lag of 7, and properties, which are sent as topics."""
    data = lag_user_data.encode(LagUserData({}, 1, {TopicPartition("t", 0): 7}, 0))
    properties = [len(name).to_bytes(2, "big") + name + b"\0\0\0\0\1\1" for name in names]
    return data[:16] + int32(1 + len(names)) + data[20:] + b"".join(properties)


def test_bytes_of_version_0() -> None:
    """Each topic uses the narrowest numbers that hold its largest."""
    data = lag_user_data.encode(LagUserData({"t": [3]}, 5, LAGS, 1500))
    assert data.hex(" ", 1) == " ".join(
        (
            "00 00 00 00 00 05 00 00 00 01 00 01 74 00 00 00 01 00 00 00 03",  # history
            "00 00 00 00 05 dc 00 00 00 02",  # version, age, topics
            "00 06 6f 72 64 65 72 73 00 00 00 02 02 04 00 00 01 2c 00 00 00 07 00 01 11 70",
            "00 03 70 61 79 00 00 00 01 01 01 01 00",
        )
    )
    assert lag_user_data.decode(data)[:5] == ({"t": [3]}, 5, LAGS, 1500, 1.0)


@given(st.dictionaries(partitions, st.integers(0, 2**63 - 1), max_size=20), st.integers(0, 2**31 - 1))
def test_decode_reverses_encode(lags: dict[TopicPartition, int], age_ms: int) -> None:
    data = lag_user_data.encode(LagUserData({}, NO_GENERATION, lags, age_ms))
    assert lag_user_data.decode(data) == ({}, NO_GENERATION, lags, age_ms, 1.0, False, False, False, {}, None)


def test_bytes_of_a_capacity() -> None:
    """It follows the topics, as one without partitions."""
    plain = lag_user_data.encode(LagUserData({"t": [3]}, 5, LAGS, 1500))
    data = lag_user_data.encode(LagUserData({"t": [3]}, 5, LAGS, 1500, 2.0))
    start = len(lag_user_data.encode(LagUserData({"t": [3]}, 5, {}, 0))) - 4
    assert data[start : start + 4] == b"\0\0\0\3"
    assert data == plain[:start] + b"\0\0\0\3" + plain[start + 4 :] + b"\0\x0e:capacity=2048\0\0\0\0\1\1"
    assert lag_user_data.decode(data).capacity == 2.0
    assert lag_user_data.encode(LagUserData({"t": [3]}, 5, LAGS, 1500, 1.0)) == plain


def test_bytes_of_a_service_rate() -> None:
    """A property in place of the capacity: the byte of 2^(56 / 8) records a second, and of none."""
    plain = lag_user_data.encode(LagUserData({}, 5, {}, 1500))
    for rate, name in ((128.0, b"\0\x11:service-rate=138"), (0.0, b"\0\x0f:service-rate=1")):
        data = lag_user_data.encode(LagUserData({}, 5, {}, 1500, service_rate=rate))
        assert data == plain[:16] + b"\0\0\0\1" + name + b"\0\0\0\0\1\1"
        assert lag_user_data.decode(data)._replace(service_rate=None) == lag_user_data.decode(plain)
        assert lag_user_data.decode(data).service_rate == rate


def test_bytes_of_a_member_that_reads_budgets() -> None:
    """Another property; a leader that does not know it reads a topic without lag."""
    plain = lag_user_data.encode(LagUserData({}, 5, {}, 1500, 2.0))
    data = lag_user_data.encode(LagUserData({}, 5, {}, 1500, 2.0, reads_budget=True))
    assert data == plain[:16] + b"\0\0\0\2" + plain[20:] + b"\0\x08:compact\0\0\0\0\1\1"
    assert lag_user_data.decode(data) == ({}, 5, {}, 1500, 2.0, False, True, False, {}, None)
    assert not lag_user_data.decode(plain).reads_budget
    limited = lag_user_data.encode(LagUserData({}, 5, {}, 1500, 2.0, reads_budget=True, has_budget=True))
    assert limited == data[:16] + b"\0\0\0\3" + data[20:] + b"\0\x07:budget\0\0\0\0\1\1"
    assert lag_user_data.decode(limited) == lag_user_data.decode(data)._replace(has_budget=True)


def test_bytes_of_rates() -> None:
    """A property, too, in the order of the lags; those of other partitions are not sent."""
    plain = lag_user_data.encode(LagUserData({}, 5, LAGS, 1500))
    rates = {TopicPartition("orders", 300): 4.0, TopicPartition("pay", 1): 0.0, TopicPartition("pay", 9): 7.0}
    data = lag_user_data.encode(LagUserData({}, 5, LAGS, 1500, rates=rates))
    name = b":rates=" + b85encode(zlib.compress(bytes([0, 2 + 8 * 12, 1]), 9))
    lags = plain[20:]
    assert data == plain[:16] + b"\0\0\0\3" + lags + len(name).to_bytes(2, "big") + name + b"\0\0\0\0\1\1"
    sent = lag_user_data.decode(data)
    assert sent.lags == LAGS
    assert sent.rates == {TopicPartition("orders", 300): 4.0, TopicPartition("pay", 1): 0.0}


def test_of_equal_lags_those_with_more_arrivals_are_sent() -> None:
    lags = dict.fromkeys((TopicPartition("t", p) for p in range(lag_user_data.MOST_REPORTED_LAGS + 10)), 0)
    rates = {partition: float(partition.partition) for partition in lags}
    sent = lag_user_data.decode(lag_user_data.encode(LagUserData({}, 1, lags, 0, rates=rates)))
    assert sent.lags.keys() == sent.rates.keys() == {p for p in lags if p.partition >= 10}


@pytest.mark.parametrize("text", [b'"', b"abcde", b85encode(zlib.compress(b"\1\1"))])
def test_invalid_rates_are_refused(text: bytes) -> None:
    """No Base85, no compressed bytes, and two rates for one lag."""
    with pytest.raises(CodecError, match="lag user data: "):
        lag_user_data.decode(with_property(b":rates=" + text))


def test_only_the_last_rates_are_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A member may send them thousands of times, each for all its lags."""
    unpacked: list[bytes] = []
    unpack = rates.unpack

    def count(partitions: Sequence[TopicPartition], packed: bytes) -> dict[TopicPartition, float]:
        unpacked.append(packed)
        return unpack(partitions, packed)

    monkeypatch.setattr(rates, "unpack", count)
    names = [b":rates=" + b85encode(zlib.compress(bytes([code]))) for code in (1, 82)]
    sent = lag_user_data.decode(with_property(*names))
    assert sent.rates == {TopicPartition("t", 0): 1.0}
    assert unpacked == [zlib.compress(bytes([82]))]


@given(st.floats(2.0**-10, 1024))
def test_a_capacity_is_rounded_to_parts_of_1024(capacity: float) -> None:
    sent = lag_user_data.decode(lag_user_data.encode(LagUserData({}, 1, {}, 0, capacity)))
    assert abs(sent.capacity - capacity) <= 1 / 2048
    assert sent[:4] == ({}, 1, {}, 0)


@pytest.mark.parametrize(
    "name",
    [
        *(b":capacity=" + text for text in (b"", b"x", b"-1", b"nan", b"1e300", b"9" * 16, b"\xc2\xb2")),
        *(b":service-rate=" + text for text in (b"", b"x", b"-1", b"256", b"9" * 16)),
    ],
)
def test_an_unreadable_capacity_or_service_rate_is_not_a_number(name: bytes) -> None:
    """The lags still count."""
    sent = lag_user_data.decode(with_property(name))
    assert math.isnan(sent.capacity)
    assert (sent.service_rate, sent.lags) == (None, {TopicPartition("t", 0): 7})


def test_a_leader_without_capacities_reads_the_lags() -> None:
    """The reader of version 0 as it was before: topics, numbers and lags, and no byte left."""
    data = lag_user_data.encode(LagUserData({}, 1, LAGS, 1500, 4.0))
    reader = Reader(data)
    history.read(reader)
    assert (reader.int16(), reader.int32()) == (0, 1500)
    lags = {}
    for _ in range(reader.count(8)):
        topic, count = reader.string(), reader.count(0)
        codes = [{1: "B", 2: "H", 4: "I", 8: "q"}[reader.uint8()] for _ in range(2)]
        numbers, values = (reader.array(count, code) for code in codes)
        lags.update(dict(zip([TopicPartition(topic, p) for p in numbers], values, strict=True)))
    reader.end()
    assert lags == LAGS


def test_only_the_heaviest_partitions_are_sent() -> None:
    """The broker keeps all members' user data in one message."""
    many = {TopicPartition("t", p): p for p in range(5_000)}
    data = lag_user_data.encode(LagUserData({}, 1, many, 0))
    assert len(data) < 4_100
    sent = lag_user_data.decode(data)[2]
    assert sent == {
        partition: lag for partition, lag in many.items() if lag >= 5_000 - lag_user_data.MOST_REPORTED_LAGS
    }


def test_huge_numbers_are_clipped() -> None:
    data = lag_user_data.encode(LagUserData({}, 1, {TopicPartition("t", 0): 2**70}, 2**70))
    assert lag_user_data.decode(data)[2:4] == ({TopicPartition("t", 0): 2**63 - 1}, 2**31 - 1)


GOOD = lag_user_data.encode(LagUserData({"t": [3]}, 5, LAGS, 1500))
START = len(lag_user_data.encode(LagUserData({"t": [3]}, 5, {}, 0))) - 10  # of the lag section


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
        # a negative lag
        lag_user_data.encode(LagUserData({}, 1, {TopicPartition("t", 0): 2**62}, 0))[:-8] + b"\xff" * 8,
    ],
)
def test_invalid_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(CodecError, match="lag user data: "):
        lag_user_data.decode(data)
