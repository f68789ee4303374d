"""The uncommitted changes of a store, in memory.  All changes, or the last record's, can be dropped."""

from __future__ import annotations

from bisect import bisect_left, insort

_OVERHEAD = 150  # bytes of a change in memory beside its key and value


class Changes:
    """The last uncommitted change of each key.  Not thread-safe."""

    __slots__ = ("_before", "_keys", "_size_before", "size", "values")

    def __init__(self) -> None:
        self.values: dict[bytes, bytes | None] = {}  # None: deleted
        self.size = 0  # bytes in memory, approximate
        self._keys: list[bytes] | None = None  # sorted; None until `between` needs them
        # Key changed by the current record -> whether it had a change before, and the value of that change.
        self._before: dict[bytes, tuple[bool, bytes | None]] = {}
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
        """Return the changes from ``start`` to before ``end`` (None: no bound), sorted by key."""
        if self._keys is None:
            self._keys = sorted(self.values)
        keys = self._keys
        stop = len(keys) if end is None else bisect_left(keys, end)
        return {key: self.values[key] for key in keys[bisect_left(keys, start) : stop]}

    def clear(self) -> None:
        """Drop all changes."""
        self.values.clear()
        self.size = 0
        self._keys = None
        self.begin_record()

    def begin_record(self) -> None:
        """Start the changes of one record."""
        self._before.clear()
        self._size_before = self.size

    def undo_record(self) -> None:
        """Drop the changes since `begin_record`."""
        for key, (was_changed, value) in self._before.items():
            if was_changed:
                self.values[key] = value
            else:
                self.values.pop(key, None)
        self.size = self._size_before
        self._keys = None
        self._before.clear()
