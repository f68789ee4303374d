"""What changed in a store since its last commit, in memory: it can be dropped, all of it or one record's."""

from __future__ import annotations

from bisect import bisect_left, insort

__all__ = ["Changes"]

_OVERHEAD = 150  # bytes of a change in memory beside its key and value


class Changes:
    """The last change of each key.  One thread at a time.

    Attributes:
        values: by key; None: deleted.
        size: bytes these take, about.
    """

    __slots__ = ("_before", "_keys", "_size_before", "size", "values")

    def __init__(self) -> None:
        self.values: dict[bytes, bytes | None] = {}
        self.size = 0
        self._keys: list[bytes] | None = None  # in order, from the first `between` after a commit on
        self._before: dict[
            bytes, tuple[bool, bytes | None]
        ] = {}  # of this record: was it changed, and to what
        self._size_before = 0

    def set(self, key: bytes, value: bytes | None) -> None:
        """Change a key; None: delete it."""
        values = self.values
        was_changed, old = key in values, values.get(key)
        if key not in self._before:
            self._before[key] = was_changed, old
        if was_changed:
            self.size -= len(old or b"")
        else:
            self.size += len(key) + _OVERHEAD
            if self._keys is not None:
                insort(self._keys, key)
        values[key] = value
        self.size += len(value or b"")

    def between(self, start: bytes, end: bytes | None) -> dict[bytes, bytes | None]:
        """Those from ``start`` to before ``end`` (None: after the last), in the order of their keys."""
        if self._keys is None:
            self._keys = sorted(self.values)
        keys = self._keys
        stop = len(keys) if end is None else bisect_left(keys, end)
        return {key: self.values[key] for key in keys[bisect_left(keys, start) : stop]}

    def clear(self) -> None:
        """Drop all of it."""
        self.values.clear()
        self.size = 0
        self._keys = None
        self.begin_record()

    def begin_record(self) -> None:
        """What changes from here on belongs together: `undo_record` drops that, and nothing before it."""
        self._before.clear()
        self._size_before = self.size

    def undo_record(self) -> None:
        """Drop what changed since `begin_record`."""
        for key, (was_changed, value) in self._before.items():
            if was_changed:
                self.values[key] = value
            else:
                self.values.pop(key, None)
        self.size = self._size_before
        self._keys = None
        self._before.clear()
