"""What is known of a partition, as bytes."""

from __future__ import annotations

import dataclasses

import pytest

from kafka_assignors.errors import CodecError
from kafka_assignors.forecast import Partition, decode, encode
from tests.unit.forecast.looks import SETTINGS, look


def known() -> Partition:
    partition = Partition(SETTINGS)
    partition.take([look(20 * n, 7 * n, 6 * n) for n in range(500)])
    return partition


def test_what_was_read_back_is_written_the_same() -> None:
    data = encode(known())
    assert encode(decode(data, SETTINGS)) == data


def test_its_size_does_not_grow_with_time() -> None:
    partition, sizes = Partition(SETTINGS), []
    for n in range(20_000):
        partition.take([look(30 * n, 1000 * n, 10 * n)])
        if n >= 15_000:
            sizes.append(len(encode(partition)))
    assert max(sizes) <= 5_000


@pytest.mark.parametrize("damage", [b"", b"\x02", b"\x01\x00"])
def test_what_is_no_state_is_refused(damage: bytes) -> None:
    with pytest.raises(CodecError, match="state of a partition"):
        decode(damage, SETTINGS)


def test_a_state_that_is_cut_off_is_refused() -> None:
    data = encode(known())
    for length in (13, 100, len(data) // 2, len(data) - 1):
        with pytest.raises(CodecError, match="state of a partition"):
            decode(data[:length], SETTINGS)


def test_a_state_of_another_version_is_refused() -> None:
    with pytest.raises(CodecError, match="version 9, know only 1"):
        decode(b"\x09" + encode(known())[1:], SETTINGS)


def test_a_state_made_with_other_settings_is_refused() -> None:
    with pytest.raises(CodecError, match="of 60, 900, 600, 120 s, not 60, 1800, 600, 120 s"):
        decode(encode(known()), dataclasses.replace(SETTINGS, horizon_s=1800))
