"""The leader's assignment of a member: ConsumerProtocolAssignment v0, encoded from arrays.

int16 version, array of (topic string, array of int32 partitions), int32 length of the user data, user data.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from kafka_assignors.wire.primitives import sized

VERSION = 0  # later versions have the same fields
CLASSIC_ONLY = b"\x00"
"""Placeholder user data: a broker converts only groups without user data to the new protocol (KIP-848)."""

_HEAD = struct.Struct(">hi")


def encode(
    names: Sequence[bytes],
    numbers: npt.NDArray[np.int64],
    bounds: npt.NDArray[np.int64],
    user_data: bytes = b"",
) -> bytes:
    """Encode one member's assignment.

    Args:
        names: the names of its topics, each encoded by `string`.
        numbers: the partition numbers, topic by topic.
        bounds: the indices in ``numbers`` at which the topics begin, and the end of the last topic.
        user_data: the leader's user data for the member.
    """
    # One array holds the number of each topic's partitions, followed by the partitions.
    count_at = bounds[:-1] + np.arange(len(names))
    words = np.empty(len(numbers) + len(names), ">i4")
    is_number = np.ones(len(words), np.bool_)
    is_number[count_at] = False
    words[count_at] = np.diff(bounds)
    words[is_number] = numbers
    raw = words.tobytes()
    ends = [*(4 * count_at[1:]).tolist(), len(raw)]
    pieces = [_HEAD.pack(VERSION, len(names))]
    start = 0
    for name, end in zip(names, ends, strict=False):
        pieces += (name, raw[start:end])
        start = end
    return b"".join([*pieces, sized(user_data)])
