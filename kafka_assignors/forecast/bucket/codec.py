"""The state of a bucket as bytes, in parts that change at different times.  Pure.

==========  ==========================================================  ===========================
part        contents                                                    changes
==========  ==========================================================  ===========================
``names``   group, topic and partition of each row                      with new partitions
``hot``     the arrays of ``hot``, and the waiting samples              with each sample
``scores``  the arrays of ``scores``                                    with forecasts to be scored
``season``  the arrays of ``season``                                    every quarter of an hour
``odd``     counters that no array can hold, by ``forecast.codec``      with their samples
==========  ==========================================================  ===========================

Each part has a version byte (8), the CRC-32 of the rest, and the content; all numbers are little-endian.  The
content of ``hot`` and ``odd`` is compressed by zlib.  ``scores`` and ``season`` are not, because after some
weeks of samples their floats hardly shrink.  The content of ``hot`` begins with the settings.  An integer is
stored as its difference from the least one of all partitions, in as few bytes as the largest difference
needs.  ``scores`` and ``season`` are read when they are needed.  The format is private to the checkpoints of
one job.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from kafka_assignors.errors import CodecError
from kafka_assignors.forecast import codec as partition_codec
from kafka_assignors.forecast.bucket.bucket import Bucket
from kafka_assignors.forecast.bucket.steps import Samples
from kafka_assignors.forecast.bucket.table import COUNTERS, Table, last_samples
from kafka_assignors.forecast.settings import LoadSettings
from kafka_assignors.forecast.steps import MOST_POINTS

VERSION = 8
PARTS = ("names", "hot", "scores", "season", "odd")
_COMPRESSED = ("hot", "odd")
_WIDTHS = (0, 1, 2, 4, 8)
_NEAR = {
    "newest": "time",
    "committed": "end",
    "mark_end": "end",
    "mark_position": "end",
    "mark_served": "served",
}
"""Array -> the array from which its difference is stored, because the two are nearly equal."""

ReadPart = Callable[[str], bytes | None]


def encode(bucket: Bucket) -> dict[str, bytes]:
    """Encode ``hot``, and the other parts that have changed since the last `encode` or `decode`."""
    changed = {"hot": _encode_hot(bucket)}
    if "names" in bucket.changed:
        changed["names"] = json.dumps(bucket.keys, separators=(",", ":")).encode()
    if "odd" in bucket.changed:
        changed["odd"] = _encode_odd(bucket)
    for part in bucket.table.changed & {"scores", "season"}:
        changed[part] = b"".join(_pack(array) for array in bucket.table.part(part).values())
    bucket.changed.clear()
    bucket.table.changed.clear()
    return {part: _with_checksum(part, data) for part, data in changed.items()}


def decode(settings: LoadSettings, load: ReadPart) -> Bucket:
    """Decode a bucket.

    Args:
        settings: settings of the model.
        load: returns the bytes of a part; None: it was never encoded.  The bucket calls it for ``scores`` and
            ``season`` later, when it needs them.

    Raises:
        CodecError: a part is missing, damaged, or of another version; or a setting other than ``reset``
            differs from the encoder's.  The bucket raises it later, too, when it needs a damaged part.
    """
    bucket = Bucket(settings)
    names, hot, odd = (load(part) for part in ("names", "hot", "odd"))
    if hot is None:
        return bucket
    keys = json.loads(_checked("names", names))
    _decode_hot(bucket, [(group, topic, int(partition)) for group, topic, partition in keys], hot)
    bucket.table.load = lambda part: _decode_part(bucket.table, part, load(part))
    if odd is not None:
        _decode_odd(bucket, _checked("odd", odd))
    return bucket


def _encode_hot(bucket: Bucket) -> bytes:
    table, waiting = bucket.table, bucket.waiting
    arrays = dict(table.part("hot"))
    live = table.plain.astype(bool)
    arrays["point_at"] = (table.time - arrays["point_at"]) // table.settings.step
    arrays["point_end"] = table.end - arrays["point_end"]
    ring = (np.arange(MOST_POINTS)[:, None] - table.point_first) % MOST_POINTS
    for name in ("point_at", "point_end"):
        arrays[name] = np.where(ring < table.points, arrays[name], 0)
    for name, near in _NEAR.items():
        arrays[name] = table.arrays[near] - arrays[name]
    packed = [
        _pack(np.where(live, array, 0).astype(array.dtype) if name in COUNTERS else array)
        for name, array in arrays.items()
    ]
    packed.append(_pack(np.bincount(waiting.row, minlength=table.size)))
    before = last_samples(table, waiting.row)
    packed += [_pack(column - last) for column, last in zip(waiting[1:], before, strict=True)]
    head = [*partition_codec.encoded_settings(table.settings), table.size, len(waiting.row)]
    return b"".join((np.array(head, "<i8").tobytes(), *packed))


def _decode_hot(bucket: Bucket, keys: list[tuple[str, str, int]], data: bytes) -> None:
    table, content = bucket.table, _checked("hot", data)
    head = np.frombuffer(content, "<i8", partition_codec.SETTINGS + 2).tolist()
    *settings, size, waiting = head
    partition_codec.check_settings(settings, table.settings)
    if size != len(keys):
        raise CodecError(f"state of partitions: {size} states, but {len(keys)} names")
    bucket.rows_of(keys)
    bucket.changed.clear()
    table.drop("scores", "season")
    reader = _Reader(content, 8 * len(head))
    for name, field in table.fields.items():
        if field.part == "hot":
            table.arrays[name] = reader.take(field.kind, field.depth, table.size)
    for name, near in _NEAR.items():
        table.arrays[name] = table.arrays[near] - table.arrays[name]
    live = table.plain.astype(bool)
    table.arrays["point_at"] = (table.time // table.settings.step - table.point_at) * table.settings.step
    table.arrays["point_end"] = table.end - table.point_end
    for name, field in table.fields.items():
        if name in COUNTERS:
            table.arrays[name] = np.where(live, table.arrays[name], int(field.start)).astype(field.kind)
    row = np.repeat(np.arange(table.size), reader.take("i8", (), table.size))
    if len(row) != waiting:
        raise CodecError("state of partitions: waiting samples are missing")
    columns = [reader.take("i8", (), len(row)) + last for last in last_samples(table, row)]
    bucket.waiting = Samples(row, *columns)


def _decode_part(table: Table, part: str, data: bytes | None) -> dict[str, Any]:
    """Decode the arrays of a part; they may have fewer partitions than the table."""
    if data is None:
        return {}
    reader = _Reader(_checked(part, data), 0)
    return {
        name: reader.take(field.kind, field.depth)
        for name, field in table.fields.items()
        if field.part == part
    }


def _encode_odd(bucket: Bucket) -> bytes:
    ints = [len(bucket.odd)]
    for row, counters in bucket.odd.items():
        ints += (row, *partition_codec.encode(counters))
    return bytes(np.array(ints, "<i8").tobytes())


def _decode_odd(bucket: Bucket, content: bytes) -> None:
    ints = iter(np.frombuffer(content, "<i8").tolist())
    for _ in range(next(ints)):
        row = next(ints)
        bucket.odd[row] = partition_codec.decode(ints, bucket.settings)


def _pack(array: Any) -> bytes:
    """Pack an array: number of partitions; for int64, width and least value of each row; the values."""
    head = np.array([array.shape[-1]], "<i8").tobytes()
    if array.dtype != np.int64:
        return head + bytes(array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes())
    table = array.reshape(int(np.prod(array.shape[:-1])), array.shape[-1])
    least = table.min(axis=1) if table.size else np.zeros(len(table), np.int64)
    above = (table - least[:, None]).view(np.uint64)  # may overflow; adding ``least`` again undoes that
    most = above.max(axis=1) if table.size else np.zeros(len(table), np.uint64)
    widths = [
        next(width for width in _WIDTHS if width == 8 or high < 1 << 8 * width) for high in most.tolist()
    ]
    packed = [row.astype(f"<u{width}").tobytes() for row, width in zip(above, widths, strict=True) if width]
    return b"".join((head, bytes(widths), least.astype("<i8").tobytes(), *packed))


class _Reader:
    """Reads what `_pack` wrote."""

    __slots__ = ("_at", "_data")

    def __init__(self, data: bytes, start: int) -> None:
        self._data, self._at = data, start

    def take(self, kind: str, depth: tuple[int, ...], expected: int | None = None) -> Any:
        """Return the next array, which can be written to."""
        size = int(self._numbers("i8", 1)[0])
        if expected is not None and size != expected:
            raise CodecError(f"state of partitions: an array of {size} partitions, expected {expected}")
        rows = int(np.prod(depth))
        if kind != "i8":
            return self._numbers(kind, rows * size).reshape((*depth, size)).copy()
        widths = self._numbers("u1", rows).tolist()
        least = self._numbers("i8", rows)
        values = np.zeros((rows, size), np.uint64)
        for index, width in enumerate(widths):
            if width:
                values[index] = self._numbers(f"u{width}", size)
        return (values.view(np.int64) + least[:, None]).reshape((*depth, size))

    def _numbers(self, kind: str, count: int) -> Any:
        numbers = np.frombuffer(self._data, f"<{kind}", count, self._at)
        self._at += numbers.nbytes
        return numbers


def _with_checksum(part: str, content: bytes) -> bytes:
    packed = zlib.compress(content, 1) if part in _COMPRESSED else content
    return bytes([VERSION]) + zlib.crc32(packed).to_bytes(4, "little") + packed


def _checked(part: str, data: bytes | None) -> bytes:
    """Return the content of a part whose version and checksum are right."""
    if not data or data[0] != VERSION:
        version = data[0] if data else "none"
        raise CodecError(f"state of partitions ({part}): version {version}, expected {VERSION}")
    if zlib.crc32(data[5:]).to_bytes(4, "little") != data[1:5]:
        raise CodecError(f"state of partitions ({part}): it is damaged")
    return zlib.decompress(data[5:]) if part in _COMPRESSED else data[5:]
