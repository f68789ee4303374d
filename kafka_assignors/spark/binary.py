"""Kafka's primitive types read out of binary columns, as column expressions.

Spark has no expression for a big-endian number, but ``conv(hex(...))`` is one, within Spark's generated code.
Positions count from 1, as Spark's ``substring`` does.  Whatever is not wholly inside the bytes reads as null;
nothing here raises, with or without ANSI mode, whatever the bytes are.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812  # as all the world calls it

if TYPE_CHECKING:
    from pyspark.sql import Column

__all__ = ["int16", "int32", "int64", "is_text", "let", "piece", "text", "unsigned_varint", "varint_bits"]

_VARINT = 3
"""Bytes of a varint that are read: up to 2 million.  Kafka's may take 5, of which no length here has need."""


def piece(data: Column, at: Column, length: Column | int) -> Column:
    """``length`` bytes from ``at``; null where they are not all there."""
    inside = (at >= 1) & (F.lit(length) >= 0) & (at + length - 1 <= F.length(data))
    return F.when(inside, F.substring(data, at, F.lit(length)))


def int16(data: Column, at: Column) -> Column:
    """A signed number of 2 bytes, as an int."""
    return _signed(_unsigned(piece(data, at, 2)), 1 << 15).cast("int")


def int32(data: Column, at: Column) -> Column:
    """A signed number of 4 bytes, as an int."""
    return _signed(_unsigned(piece(data, at, 4)), 1 << 31).cast("int")


def int64(data: Column, at: Column) -> Column:
    """A signed number of 8 bytes, as a bigint."""
    return F.conv(F.hex(piece(data, at, 8)), 16, -10).cast("bigint")  # -10: decimal, signed


def text(data: Column, at: Column, length: Column) -> Column:
    """The text of so many bytes; ``is_text`` says whether it is any."""
    return piece(data, at, length).cast("string")


def is_text(data: Column, at: Column, length: Column) -> Column:
    """Whether so many bytes are valid UTF-8."""
    return F.is_valid_utf8(text(data, at, length))


def let(value: Column, body: Callable[[Column], Column]) -> Column:
    """``body`` of a value that is worked out once, however often ``body`` names it.

    Spark leaves generated code for it, so it is for what is rarely needed.
    """
    return F.element_at(F.transform(F.array(value), body), 1)


def varint_bits(data: Column, at: Column) -> Column:
    """The bytes from ``at`` as one number, for ``unsigned_varint``: a column to compute once.

    Bytes beyond the end count as 0.  They can only make a varint that ends beyond the end of the data, which
    the caller has to check anyway, for what comes behind it.
    """
    first = F.rpad(F.hex(F.substring(data, at, F.lit(_VARINT))), 2 * _VARINT, "0")
    return F.when((at >= 1) & (at <= F.length(data)), F.conv(first, 16, 10).cast("int"))


def unsigned_varint(bits: Column) -> tuple[Column, Column]:
    """An unsigned varint's value and how many bytes it takes, as ints; null if too many.

    Args:
        bits: from ``varint_bits``.
    """
    low = [F.shiftright(bits, 8 * (_VARINT - 1 - i)).bitwiseAND(0x7F) for i in range(_VARINT)]
    goes_on = [bits.bitwiseAND(0x80 << 8 * (_VARINT - 1 - i)) != 0 for i in range(_VARINT)]

    def by_size(what: Callable[[int], Column]) -> Column:
        choice = F.when(~goes_on[0], what(1))
        for size in range(2, _VARINT + 1):
            choice = choice.when(~goes_on[size - 1], what(size))
        return choice

    def value(size: int) -> Column:
        return reduce(lambda rest, byte: F.shiftleft(rest, 7).bitwiseOR(byte), reversed(low[:size]))

    return by_size(value), by_size(F.lit)


def _unsigned(data: Column) -> Column:
    """Up to 4 bytes as a bigint."""
    return F.conv(F.hex(data), 16, 10).cast("bigint")


def _signed(number: Column, sign: int) -> Column:
    return number.bitwiseXOR(F.lit(sign)) - sign
