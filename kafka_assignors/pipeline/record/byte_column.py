"""Reads numbers and texts from an Arrow column of byte strings, for all rows at once.  Pure.

Positions count from 0 within a row.  A value that is not wholly inside a row's bytes is *unknown*: it is 0,
and False in the mask returned with it (but see ``varint``).  Malformed bytes raise no error.  Only
``is_text`` makes Python objects of rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Mask = NDArray[np.bool_]

_LONGEST_VARINT = 3
"""Maximum bytes read of a varint: values up to 2 million.  Kafka allows 5, but no length here needs more."""


class ByteColumn:
    """Byte strings, some of them null; the bytes are not copied.

    Args:
        column: a binary array with offsets of 32 or 64 bits; it may be a slice of another one.

    Attributes:
        valid: which rows are not null.
        size: number of bytes of each row; 0 for null.
    """

    def __init__(self, column: Any) -> None:
        _, offsets, data = column.buffers()
        rows = len(column)
        self._type = column.type
        self._bits = np.int64 if column.type == pa.large_binary() else np.int32
        self._data = data if data is not None else pa.py_buffer(b"")
        # An empty column may have no offsets at all.
        edges = np.frombuffer(offsets, self._bits)[column.offset :][: rows + 1] if rows else np.zeros(1, int)
        edges = edges.astype(np.int64)
        self._start = edges[:-1]
        self.valid: Mask = np.asarray(column.is_valid().to_numpy(zero_copy_only=False), dtype=bool)
        self.size: Ints = np.where(self.valid, np.diff(edges), 0)  # a null may have bytes

    def number(self, width: int, at: Ints | int) -> tuple[Ints, Mask]:
        """Read a signed big-endian number of 2, 4 or 8 bytes, and the mask of known ones."""
        known = self.valid & (np.greater_equal(at, 0) & (at + width <= self.size))
        return self._numbers(f">i{width}", self._start + at, known), known

    def varint(self, at: Ints) -> tuple[Ints, Ints, Mask, Mask]:
        """Read an unsigned varint.

        Bytes beyond the end of the row count as 0, so a cut varint ends there.  Callers compare its end with
        ``size``.

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

    def beyond_ascii(self) -> Ints:
        """Return the rows with a byte that is not ASCII."""
        before = np.concatenate(([0], np.cumsum(np.frombuffer(self._data, np.uint8) >= 0x80)))
        beyond: Mask = before[self._start + self.size] > before[self._start]
        rows: Ints = np.flatnonzero(beyond)
        return rows

    def rows(self, which: Ints) -> ByteColumn:
        """Return the rows at these indices, in their order."""
        chosen = ByteColumn.__new__(ByteColumn)
        chosen._type, chosen._bits, chosen._data = self._type, self._bits, self._data
        chosen._start, chosen.valid, chosen.size = self._start[which], self.valid[which], self.size[which]
        return chosen

    def pieces(self, at: Ints | int, length: Ints, rows: Ints) -> Any:
        """Return a part of each given row, as an array of the column's type without nulls.

        Args:
            at: position of the part, by row of the column.
            length: length of the part in bytes, by row of the column.
            rows: indices of the rows, increasing; the part must be inside each of them.
        """
        first = (self._start + at)[rows]
        # Every second element is a gap, so ``both`` can share the bytes.  ``take`` copies the parts.
        edges = np.empty(2 * len(rows), self._bits)
        edges[0::2], edges[1::2] = first, first + length[rows]
        if not len(rows):
            return pa.array([], self._type)
        both = pa.Array.from_buffers(self._type, len(edges) - 1, [None, pa.py_buffer(edges), self._data])
        return both.take(pa.array(np.arange(0, len(edges), 2)))

    def _numbers(self, kind: str, start: Ints, known: Mask) -> Ints:
        """Read the numbers that start at these bytes of the data; 0 for unknown ones."""
        width = np.dtype(kind).itemsize
        if not known.any():
            return np.zeros(len(start), np.int64)
        # A view with a number at each byte, because numpy also reads unaligned ones.
        numbers = np.ndarray((self._data.size - width + 1,), kind, self._data, 0, (1,))
        read: Ints = np.zeros(len(start), np.int64)
        if known.all():
            read[:] = numbers[start]
        else:
            read[known] = numbers[start[known]]
        return read


def is_text(pieces: Any) -> Mask:
    """Return which byte strings are valid UTF-8.

    Arrow checks all at once.  If one is invalid, Python checks each that is not ASCII.

    Args:
        pieces: a binary array without nulls, not a slice of another.
    """
    fine = np.ones(len(pieces), bool)
    try:
        pieces.cast(pa.large_string() if pieces.type == pa.large_binary() else pa.string())
    except pa.ArrowInvalid:
        for row in ByteColumn(pieces).beyond_ascii():
            fine[row] = _is_utf8(pieces[int(row)].as_py())
    return fine


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
