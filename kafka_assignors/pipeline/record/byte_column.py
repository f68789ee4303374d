"""Reads numbers and texts from an Arrow column of byte strings, for all rows at once.  Pure.

Positions count from 0 within a row.  A value that is not wholly inside a row's bytes is *unknown*: it is 0,
and False in the mask returned with it (but see ``varint``).  Malformed bytes raise no error.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Mask = NDArray[np.bool_]

_LONGEST_VARINT = 3
"""Maximum bytes read of a varint: values up to 2 million.  Kafka allows 5, but no length here needs 4."""


class ByteColumn:
    """Byte strings, some of them null; the bytes are not copied.

    Args:
        column: a binary array with offsets of 32 or 64 bits and at most 2 GB; it may be a slice.

    Attributes:
        valid: which rows are not null.
        size: number of bytes of each row; 0 for null.
    """

    def __init__(self, column: Any) -> None:
        column = column.cast(pa.binary())
        _, offsets, data = column.buffers()
        rows = len(column)
        self._data = data if data is not None else pa.py_buffer(b"")
        # An empty column may have no offsets at all.
        edges = np.frombuffer(offsets, np.int32)[column.offset :][: rows + 1] if rows else np.zeros(1, int)
        edges = edges.astype(np.int64)
        self._start = edges[:-1]
        self.valid: Mask = np.asarray(column.is_valid())
        self.size: Ints = np.where(self.valid, np.diff(edges), 0)  # a null may have bytes

    def number(self, width: int, at: Ints | int) -> tuple[Ints, Mask]:
        """Return a signed big-endian number of 2, 4 or 8 bytes in each row, and the mask of known ones."""
        known = self.valid & (np.greater_equal(at, 0) & (at + width <= self.size))
        return self._numbers(f">i{width}", self._start + at, known), known

    def varint(self, at: Ints) -> tuple[Ints, Ints, Mask, Mask]:
        """Read an unsigned varint.

        If the row ends within the varint, the missing byte reads as 0.  The varint then counts as ended, one
        byte past ``size``.  Callers check that.

        Returns:
            The value, its size in bytes, the mask of rows that have its first byte, and the mask of rows in
            which it ends within the bytes read.  Value and size are meaningless in other rows.
        """
        begun = self.valid & (at >= 0) & (at < self.size)
        start = self._start + at
        byte = self._numbers("u1", start, begun)
        value, size = byte & 0x7F, np.ones(len(byte), np.int64)
        more = np.flatnonzero(byte >= 0x80)  # few, because nearly all varints have one byte
        for i in range(1, _LONGEST_VARINT):
            inside = begun[more] & (at[more] + i < self.size[more])
            byte = self._numbers("u1", start[more] + i, inside)
            value[more] |= (byte & 0x7F) << 7 * i
            size[more] = i + 1
            more = more[byte >= 0x80]
        ended = begun.copy()
        ended[more] = False
        return value, size, begun, ended

    def rows(self, which: Ints) -> ByteColumn:
        """Return the rows at these indices, in their order."""
        chosen = copy(self)
        chosen._start, chosen.valid, chosen.size = self._start[which], self.valid[which], self.size[which]
        return chosen

    def texts(self, at: Ints | int, length: Ints, which: Mask) -> Any:
        """Return a part of each row, as an array of strings.

        Arrow checks all parts at once.  If one of them is not UTF-8, Python decodes each.

        Args:
            at: position of the part, by row.
            length: length of the part in bytes, by row.
            which: the rows with such a part, which must be inside the row.  Other rows, and parts that are
                not UTF-8, are null.
        """
        if not which.any():
            return pa.nulls(len(which), pa.string())
        rows = np.flatnonzero(which)
        first = (self._start + at)[rows]
        # ``both`` has the parts and the gaps between them, so it needs no copy of the bytes.  ``take`` then
        # copies the parts alone.
        edges = np.empty(2 * len(rows), np.int32)
        edges[0::2], edges[1::2] = first, first + length[rows]
        buffers = [None, pa.py_buffer(edges), self._data]
        both = pa.Array.from_buffers(pa.binary(), len(edges) - 1, buffers)
        parts = both.take(pa.array(2 * (np.cumsum(which) - 1), mask=~which))
        try:
            return parts.cast(pa.string())
        except pa.ArrowInvalid:
            return pa.array([_utf8(part) for part in parts.to_pylist()], pa.string())

    def _numbers(self, kind: str, start: Ints, known: Mask) -> Ints:
        """Read the numbers that start at these bytes of the data; 0 for unknown ones."""
        width = np.dtype(kind).itemsize
        read: Ints = np.zeros(len(start), np.int64)
        if known.any():
            # A view with a number at each byte, because numpy also reads unaligned ones.
            numbers = np.ndarray((self._data.size - width + 1,), kind, self._data, 0, (1,))
            read[known] = numbers[start[known]]
        return read


def _utf8(text: bytes | None) -> str | None:
    try:
        return None if text is None else text.decode()
    except UnicodeDecodeError:
        return None
