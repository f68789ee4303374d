"""What the leader sends a member: ConsumerProtocolAssignment v0, straight from arrays.

version int16, array of (topic string, array of int32 partitions), user data behind its int32 length.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

__all__ = ["CLASSIC_ONLY", "encode", "topic_header"]

VERSION = 0  # the fields of later versions are the same
CLASSIC_ONLY = b"\x00"
"""User data without a meaning; a broker converts only groups without any to the new protocol (KIP-848)."""

_HEAD = struct.Struct(">hi")
_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")


def topic_header(topic: str) -> bytes:
    """A topic's name behind its length."""
    name = topic.encode()
    return _INT16.pack(len(name)) + name


def encode(
    headers: Sequence[bytes],
    numbers: npt.NDArray[np.int64],
    bounds: npt.NDArray[np.int64],
    user_data: bytes = b"",
) -> bytes:
    """One member's bytes.

    Args:
        headers: ``topic_header`` of each topic.
        numbers: partition numbers, topic by topic.
        bounds: where each topic's numbers begin, and where the last one's end.
        user_data: for the assignor on the other side.
    """
    # Every topic's count in front of its numbers, all in one array.
    counts = bounds[:-1] + np.arange(len(headers))
    words = np.empty(len(numbers) + len(headers), ">i4")
    is_number = np.ones(len(words), np.bool_)
    is_number[counts] = False
    words[counts] = np.diff(bounds)
    words[is_number] = numbers
    raw = words.tobytes()
    ends = [*(4 * counts[1:]).tolist(), len(raw)]
    pieces = [_HEAD.pack(VERSION, len(headers))]
    start = 0
    for header, end in zip(headers, ends, strict=False):
        pieces += (header, raw[start:end])
        start = end
    return b"".join([*pieces, _INT32.pack(len(user_data)), user_data])
