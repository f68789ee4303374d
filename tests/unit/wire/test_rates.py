"""Arrival rates in a byte each."""

from __future__ import annotations

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_assignors.errors import CodecError
from kafka_assignors.plan import TopicPartition
from kafka_assignors.wire import rates

PARTITIONS = [TopicPartition("t", p) for p in range(6)]


@given(st.dictionaries(st.sampled_from(PARTITIONS), st.floats(0.001, 3e6)))
def test_rates_are_within_4_4_percent(known: dict[TopicPartition, float]) -> None:
    sent = rates.unpack(PARTITIONS, rates.pack(PARTITIONS, known))
    assert sent.keys() == known.keys()
    assert all(sent[p] == pytest.approx(rate, rel=0.0443) for p, rate in known.items())


@given(st.floats(0.001, 3e6))
def test_a_rate_does_not_drift_on_its_way(rate: float) -> None:
    """A partition moves from member to member, and each sends the rate on."""
    once = rates.unpack(PARTITIONS[:1], rates.pack(PARTITIONS[:1], {PARTITIONS[0]: rate}))
    assert rates.unpack(PARTITIONS[:1], rates.pack(PARTITIONS[:1], once)) == once


@pytest.mark.parametrize(("rate", "code"), [(0.0, 1), (1e-9, 1), (2.0**-10, 2), (1.0, 82), (1e30, 255)])
def test_rate_has_a_code(rate: float, code: int) -> None:
    assert zlib.decompress(rates.pack(PARTITIONS[:2], {PARTITIONS[1]: rate})) == bytes([0, code])


@pytest.mark.parametrize("packed", [b"x", zlib.compress(b"\1" * 5), zlib.compress(b"\1" * 7)])
def test_invalid_bytes_are_refused(packed: bytes) -> None:
    with pytest.raises(CodecError):
        rates.unpack(PARTITIONS, packed)
