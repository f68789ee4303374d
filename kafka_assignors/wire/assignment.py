"""The leader's assignment of a member: ConsumerProtocolAssignment v0, encoded from arrays.

int16 version, array of (topic string, array of int32 partitions), int32 length of the user data, user data.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import chain

import numpy as np
import numpy.typing as npt

from kafka_assignors.wire.primitives import sized

VERSION = 0  # later versions have the same fields
CLASSIC_ONLY = b"\x00"
"""Placeholder that keeps a group classic: a broker converts only groups without user data (KIP-848)."""

_HEAD = struct.Struct(">hi")


def encode_runs(
    numbers: npt.NDArray[np.int64], bounds: npt.NDArray[np.int64]
) -> tuple[bytes, npt.NDArray[np.int64]]:
    """Encode arrays of partition numbers, of all members at once, to call numpy less often.

    Args:
        numbers: the partition numbers of all arrays, one array after the other.
        bounds: the indices in ``numbers`` at which the arrays begin, and the end of the last one.

    Returns:
        The bytes of all arrays, the positions at which they begin, and the end of the last one.
    """
    starts = bounds + np.arange(len(bounds))  # each array begins with its length
    words = np.empty(starts[-1], ">i4")
    is_number = np.ones(len(words), np.bool_)
    is_number[starts[:-1]] = False
    words[starts[:-1]] = np.diff(bounds)
    words[is_number] = numbers
    return words.tobytes(), 4 * starts


def encode(names: Sequence[bytes], arrays: Sequence[bytes], user_data: bytes = b"") -> bytes:
    """Encode one member's assignment.

    Args:
        names: the names of its topics, each encoded by `string`.
        arrays: by topic, its partition numbers, encoded by `encode_runs`.
        user_data: the leader's user data for the member.
    """
    topics = chain.from_iterable(zip(names, arrays, strict=True))
    return b"".join((_HEAD.pack(VERSION, len(names)), *topics, sized(user_data)))
