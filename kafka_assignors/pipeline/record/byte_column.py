"""Pure: a column of byte strings as Arrow has it, read at a position of each row, all rows at once.

Positions count from 0 within a row.  Whatever is not wholly inside a row's bytes is *not known*: it comes as
0 beside a mask that says so.  Nothing here raises, whatever the bytes are, and no row becomes a Python object
(but see ``is_text``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Mask = NDArray[np.bool_]

__all__ = ["ByteColumn", "is_text"]

_LONGEST_VARINT = 3
"""Bytes of a varint that are read: up to 2 million.  Kafka's may take 5, of which no length here has need."""


class ByteColumn:
    """Byte strings, of which some may be null; the bytes stay where Arrow has them.

    Args:
        column: a binary array with offsets of 32 or 64 bits, whole or a slice of another.

    Attributes:
        valid: which rows are not null.
        size: bytes of each row; 0: null.
    """

    def __init__(self, column: Any) -> None:
        _, offsets, data = column.buffers()
        rows = len(column)
        self._type = column.type
        self._bits = np.int64 if column.type == pa.large_binary() else np.int32
        self._data = data if data is not None else pa.py_buffer(b"")
        # Of an empty column there may be no offsets at all.
        edges = np.frombuffer(offsets, self._bits)[column.offset :][: rows + 1] if rows else np.zeros(1, int)
        edges = edges.astype(np.int64)
        self._start = edges[:-1]
        self.valid: Mask = np.asarray(column.is_valid().to_numpy(zero_copy_only=False), dtype=bool)
        self.size: Ints = np.where(self.valid, np.diff(edges), 0)  # a null may have bytes

    def number(self, width: int, at: Ints | int) -> tuple[Ints, Mask]:
        """A signed big-endian number of 2, 4 or 8 bytes, and where it is known."""
        known = self.valid & (np.greater_equal(at, 0) & (at + width <= self.size))
        return self._taken(f">i{width}", self._start + at, known), known

    def varint(self, at: Ints) -> tuple[Ints, Ints, Mask, Mask]:
        """An unsigned varint.

        Bytes beyond the end of the row count as 0.  They can only make a varint that ends beyond the end,
        which the caller has to check anyway, for what comes behind it.

        Returns:
            Its value, how many bytes it takes, where its first byte is inside the row, and where it comes to
            its end within so many bytes as are read of one; elsewhere value and size mean nothing.
        """
        begun = self.valid & (at >= 0) & (at < self.size)
        place = self._start + at
        byte = self._taken("u1", place, begun)
        value, size = byte & 0x7F, np.ones(len(byte), np.int64)
        more = np.flatnonzero(byte >= 0x80)  # few: nearly all are of one byte
        for i in range(1, _LONGEST_VARINT):
            inside = begun[more] & (at[more] + i < self.size[more])
            byte = self._taken("u1", place[more] + i, inside)
            value[more] |= (byte & 0x7F) << 7 * i
            size[more] = i + 1
            more = more[byte >= 0x80]
        ended = begun.copy()
        ended[more] = False
        return value, size, begun, ended

    def beyond_ascii(self) -> Ints:
        """Rows with a byte that is not ASCII."""
        before = np.concatenate(([0], np.cumsum(np.frombuffer(self._data, np.uint8) >= 0x80)))
        beyond: Mask = before[self._start + self.size] > before[self._start]
        rows: Ints = np.flatnonzero(beyond)
        return rows

    def rows(self, which: Ints) -> ByteColumn:
        """Some of the rows, in that order."""
        some = ByteColumn.__new__(ByteColumn)
        some._type, some._bits, some._data = self._type, self._bits, self._data
        some._start, some.valid, some.size = self._start[which], self.valid[which], self.size[which]
        return some

    def pieces(self, at: Ints | int, length: Ints, rows: Ints) -> Any:
        """So many bytes of each of these rows, as an array of the column's type without nulls.

        Args:
            at: of all rows.
            length: the same.
            rows: increasing; in each of them the piece must be known to be inside.
        """
        first = (self._start + at)[rows]
        # An array of pieces and, between them, of what lies between them: it needs no bytes of its own.
        edges = np.empty(2 * len(rows), self._bits)
        edges[0::2], edges[1::2] = first, first + length[rows]
        if not len(rows):
            return pa.array([], self._type)
        both = pa.Array.from_buffers(self._type, len(edges) - 1, [None, pa.py_buffer(edges), self._data])
        return both.take(pa.array(np.arange(0, len(edges), 2)))

    def _taken(self, kind: str, place: Ints, known: Mask) -> Ints:
        """Numbers of one kind at places of the data, 0 where they are not known."""
        width = np.dtype(kind).itemsize
        if not known.any():
            return np.zeros(len(place), np.int64)
        # A number begins at each byte: numpy reads where they are not aligned, too.
        numbers = np.ndarray((self._data.size - width + 1,), kind, self._data, 0, (1,))
        found: Ints = np.zeros(len(place), np.int64)
        if known.all():
            found[:] = numbers[place]
            return found
        found[known] = numbers[place[known]]
        return found


def is_text(pieces: Any) -> Mask:
    """Which byte strings are valid UTF-8.

    Where all are, Arrow says so at once.  Where one is not, Python is asked for each that is not ASCII.

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
