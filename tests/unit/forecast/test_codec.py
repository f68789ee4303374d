"""The state of a partition as bytes."""

from __future__ import annotations

import dataclasses
from random import Random

import numpy as np
import pytest

from kafka_assignors.errors import CodecError
from kafka_assignors.forecast import Partition, decode, encode
from tests.unit.forecast.looks import SETTINGS, look


def known() -> Partition:
    partition = Partition(SETTINGS)
    partition.take([look(20 * n, 7 * n, 6 * n) for n in range(500)])
    return partition


def test_decoded_state_is_encoded_to_the_same_bytes() -> None:
    for more in ([], [look(10_100, None, 5, begin=None), look(11_000, None, 5, begin=None)]):  # a reset
        partition = known()
        partition.take(more)
        data = encode(partition)
        assert encode(decode(data, SETTINGS)) == data
    assert partition.steps.ends.doubted


def test_encoded_size_does_not_grow_with_time() -> None:
    partition, sizes = Partition(SETTINGS), []
    for n in range(20_000):
        partition.take([look(30 * n, 1000 * n, 10 * n)])
        if n >= 15_000:
            sizes.append(len(encode(partition)))
    assert max(sizes) <= 14_400


@pytest.mark.parametrize("damage", [b"", b"\x02", b"\x04\x00"])
def test_bytes_that_are_no_state_are_refused(damage: bytes) -> None:
    with pytest.raises(CodecError, match="state of a partition"):
        decode(damage, SETTINGS)


def test_truncated_state_is_refused() -> None:
    data = encode(known())
    for length in (13, 100, len(data) // 2, len(data) - 1):
        with pytest.raises(CodecError, match="state of a partition"):
            decode(data[:length], SETTINGS)


def parts(data: bytes) -> tuple[list[int], list[float], bytes]:
    """Split an encoded state into its integers, floats and small integers."""
    ints, floats, _small = np.frombuffer(data, "<u4", 3, 1).tolist()
    at = 13 + 8 * ints
    return (
        np.frombuffer(data, "<i8", ints, 13).tolist(),
        np.frombuffer(data, "<f8", floats, at).tolist(),
        data[at + 8 * floats :],
    )


def joined(ints: list[int], floats: list[float], small: bytes) -> bytes:
    """Join the parts of a state, with a matching header."""
    head = np.array([len(ints), len(floats), len(small)], "<u4").tobytes()
    return b"\x04" + head + np.array(ints, "<i8").tobytes() + np.array(floats, "<f8").tobytes() + small


def test_too_few_or_too_many_numbers_are_refused_though_the_header_matches() -> None:
    ints, floats, small = parts(encode(known()))
    assert joined(ints, floats, small) == encode(known())
    wrong = [
        *(joined(ints[:count], floats, small) for count in range(len(ints))),
        *(joined(ints, floats[:count], small) for count in range(len(floats))),
        *(joined(ints, floats, small[:count]) for count in range(0, len(small), 7)),
        joined([*ints, 0], floats, small),
        joined(ints, [*floats, 0.0], small),
        joined(ints, floats, small + b"\0"),
    ]
    for data in wrong:
        with pytest.raises(CodecError, match="state of a partition"):
            decode(data, SETTINGS)


@pytest.mark.parametrize("strange", [-1, 2])
def test_accepted_state_is_encoded_to_the_same_bytes(strange: int) -> None:
    """A negative count, or a boolean that is neither 0 nor 1, must be refused."""
    for state in (known(), Partition(SETTINGS)):
        ints, floats, small = parts(encode(state))
        for index, number in enumerate(ints):
            if number in (0, 1):
                data = joined([*ints[:index], strange, *ints[index + 1 :]], floats, small)
                assert is_refused(data) or encode(decode(data, SETTINGS)) == data


def is_refused(data: bytes) -> bool:
    try:
        decode(data, SETTINGS)
    except CodecError:
        return True
    return False


@pytest.mark.parametrize("seed", range(5))
def test_damaged_state_raises_only_codec_error(seed: int) -> None:
    rng = Random(seed)
    whole = encode(known())
    ints, floats, small = parts(whole)
    strange = (-1, -(2**63), 2**63 - 1, 2**31, 0, 1, 5)
    refused = 0
    for _ in range(400):
        damaged = bytearray(whole)
        for _ in range(rng.randint(1, 4)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        other = list(ints)
        other[rng.randrange(len(ints))] = rng.choice(strange)
        for data in (bytes(damaged), joined(other, floats, small), rng.randbytes(rng.randrange(60))):
            refused += is_refused(data)
    assert refused > 400  # random bytes are never a state


def test_state_of_another_version_is_refused() -> None:
    with pytest.raises(CodecError, match="version 9, know only 4"):
        decode(b"\x09" + encode(known())[1:], SETTINGS)


def test_state_encoded_with_other_settings_is_refused() -> None:
    with pytest.raises(CodecError, match=r"^state of a partition: made with .* s, not 60, 1800, 600, 120 s"):
        decode(encode(known()), dataclasses.replace(SETTINGS, horizon_s=1800))


def test_state_encoded_in_another_time_zone_is_refused() -> None:
    with pytest.raises(CodecError, match="another time zone than Asia/Tokyo"):
        decode(encode(known()), dataclasses.replace(SETTINGS, zone="Asia/Tokyo"))
