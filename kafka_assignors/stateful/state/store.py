"""One task's keys and values, on disk: RocksDB, through rocksdict (extra ``stateful``).

Changes stay in memory until `commit`, which writes them and their changelog offset in one atomic step;
`rollback` drops them.  So a store never holds half of a record's changes (unless it was restored from a
changelog whose writer was killed), and always knows its position.

RocksDB's write-ahead log is off for a store with a changelog.  Committed changes are on disk once `flush`
returns; only then may a checkpoint be written.  After a crash the store is in the state of some commit, at
the checkpoint or beyond it, and `position` says which.

`StoreOptions` bounds the memory of all stores of one `Stores`, except for uncommitted changes
(`Store.uncommitted_bytes`) and indexes of open files (`max_open_files` of each store).
"""

from __future__ import annotations

import heapq
import struct
import weakref
from collections.abc import Generator, Iterable, Iterator, Mapping
from operator import itemgetter
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from kafka_assignors.errors import StateClosedError, StateDamagedError, StateError
from kafka_assignors.stateful.state.changes import Changes
from kafka_assignors.stateful.state.faults import store_error

if TYPE_CHECKING:
    from rocksdict import Rdict

_POSITION_KEY = b""  # users' keys have at least one byte, so this one is free and sorts first
_FIRST_KEY = b"\0"
_POSITION = struct.Struct(">Bq")
_FORMAT = 1  # version of the stored position


class Store:
    """The state of one task: bytes to bytes, sorted by key.

    For the callback: `get`, `put`, `delete`, `range`, `prefix`, `approximate_bytes`.  The rest is for the
    runtime.  Not thread-safe.  A key has at least one byte.

    Raises:
        StateError: (all methods) the disk is full or broken, or the store is damaged or closed.
        TypeError: (methods with keys or values) an argument is not bytes.
    """

    def __init__(self, database: Rdict, path: Path, *, logged: bool = True) -> None:
        from rocksdict import ReadOptions, WriteBatch, WriteOptions

        self._database: Rdict | None = database
        self._path = path
        self._new_batch, self._read_options = WriteBatch, ReadOptions
        self._logged = logged
        self._write_options = WriteOptions()
        # rocksdict's type stub has a method here, its code an attribute.
        self._write_options.disable_wal = logged
        self._changes = Changes()
        self._position: int | None = None
        # An iterator keeps the database open, and locked.
        self._iterators: weakref.WeakSet[Generator[tuple[bytes, bytes], None, None]] = weakref.WeakSet()

    # --- for the callback

    def get(self, key: bytes) -> bytes | None:
        """Return the value of a key, None if it has none."""
        _must_be_bytes("a key", key)
        if key in self._changes.values:
            return self._changes.values[key]
        database = self._opened()
        if not key:
            return None
        try:
            value: bytes | None = database.get(key)
        except Exception as error:  # rocksdict has no class for it
            raise self._fault(error) from error
        return value

    def put(self, key: bytes, value: bytes) -> None:
        """Set the value of a key.

        Raises:
            ValueError: the key is empty.
        """
        _must_be_bytes("a value", value)
        self._change(key, value)

    def delete(self, key: bytes) -> None:
        """Delete a key; it may be missing.

        Raises:
            ValueError: the key is empty.
        """
        self._change(key, None)

    def range(self, start: bytes | None = None, end: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        """Return an iterator of sorted keys and values, from ``start`` to before ``end``; None: no bound.

        The iterator does not show changes made after its first item.
        """
        for bound in (start, end):
            if bound is not None:
                _must_be_bytes("a bound", bound)
        self._opened()
        iterator = self._merged(start or _FIRST_KEY, end)
        self._iterators.add(iterator)
        return iterator

    def prefix(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Return an iterator of sorted keys with this prefix, and their values."""
        _must_be_bytes("a prefix", prefix)
        return self.range(prefix, _after(prefix))

    @property
    def approximate_bytes(self) -> int:
        """Approximate size of the store: compressed files, and changes in memory."""
        database = self._opened()
        on_disk = database.property_int_value("rocksdb.live-sst-files-size") or 0
        in_memory = database.property_int_value("rocksdb.cur-size-all-mem-tables") or 0
        return on_disk + in_memory + self._changes.size

    # --- for the runtime

    @property
    def uncommitted(self) -> Mapping[bytes, bytes | None]:
        """The last change of each key since the last commit; None: deleted."""
        return MappingProxyType(self._changes.values)

    @property
    def uncommitted_bytes(self) -> int:
        """Memory of uncommitted changes, approximate."""
        return self._changes.size

    @property
    def position(self) -> int | None:
        """Offset of the next changelog record to apply; None: the store has no position."""
        return self._position

    def commit(self, position: int | None = None) -> None:
        """Write the changes and the new position in one step: after a crash the store has all or none.

        Args:
            position: the changelog offset after these changes; None: the position stays, or is removed if the
                store has no changelog.
        """
        self._write(self._changes.values.items(), position)
        self.rollback()

    def rollback(self) -> None:
        """Drop uncommitted changes."""
        self._changes.clear()

    def begin_record(self) -> None:
        """Start the changes of one record, for `undo_record`."""
        self._changes.begin_record()

    def undo_record(self) -> None:
        """Drop the changes since `begin_record`."""
        self._changes.undo_record()

    def apply(self, changes: Iterable[tuple[bytes, bytes | None]], position: int) -> None:
        """Write changelog records (a value of None deletes) and the new position in one step.

        No other Python thread of the process runs meanwhile (10 ms a megabyte), so pass a few hundred
        kilobytes at a time.
        """
        self._write(changes, position)

    def flush(self) -> int | None:
        """Bring committed changes to disk, and return the position for a checkpoint.

        Creates files, so do not call it after each commit.
        """
        database = self._opened()
        try:
            database.flush()
        except Exception as error:  # rocksdict has no class for it
            raise self._fault(error) from error
        return self._position

    def close(self) -> None:
        """Flush committed changes and close, even if the flush fails.  Safe to repeat."""
        if self._database is None:
            return
        self.rollback()
        for iterator in list(self._iterators):
            iterator.close()
        try:
            self.flush()
        finally:
            database, self._database = self._database, None
            try:
                database.close()
            except Exception as error:  # rocksdict has no class for it
                raise self._fault(error) from error

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def load_position(self, at_least: int | None) -> None:
        """Read the store's position; called by `Stores.open`.

        Raises:
            StateDamagedError: the position is before the checkpoint's, or has an unknown format.
            StateError: the position has an unknown format, and the store has no changelog.
        """
        database = self._opened()
        try:
            stored: bytes | None = database.get(_POSITION_KEY)
        except Exception as error:  # rocksdict has no class for it
            raise store_error(error, self._path, logged=self._logged) from error
        if stored is not None:
            if len(stored) != _POSITION.size or stored[0] != _FORMAT:
                wrong = f"the store {self._path} has the format of another release"
                if not self._logged:
                    raise StateError(f"{wrong}; it has no changelog, so it is left as it is")
                raise StateDamagedError(f"{wrong}: restore it")
            self._position = _POSITION.unpack(stored)[1]
        if at_least is not None and (self._position or 0) < at_least:
            raise StateDamagedError(
                f"the store {self._path} is at offset {self._position or 0}, its checkpoint at {at_least}: "
                "it must be restored"
            )

    def _change(self, key: bytes, value: bytes | None) -> None:
        _must_be_bytes("a key", key)
        if not key:
            raise ValueError("the key is empty")
        self._opened()
        self._changes.set(key, value)

    def _write(self, changes: Iterable[tuple[bytes, bytes | None]], position: int | None) -> None:
        database = self._opened()
        batch = self._new_batch(raw_mode=True)
        put, delete = batch.put, batch.delete
        for key, value in changes:
            if not key:
                continue  # other writers may put anything into a changelog
            if value is None:
                delete(key)
            else:
                put(key, value)
        if position is not None:
            put(_POSITION_KEY, _POSITION.pack(_FORMAT, position))
        elif self._position is not None and not self._logged:
            delete(_POSITION_KEY)  # of an earlier changelog, which lacks these changes
        try:
            database.write(batch, self._write_options)
        except Exception as error:  # rocksdict has no class for it
            raise self._fault(error) from error
        if position is not None or not self._logged:
            self._position = position

    def _merged(self, start: bytes, end: bytes | None) -> Generator[tuple[bytes, bytes], None, None]:
        """Merge the keys on disk with the uncommitted changes, which take precedence."""
        changes = self._changes.between(start, end)
        options = self._read_options()
        if end is not None:
            options.set_iterate_upper_bound(end)
        stored = (entry for entry in self._stored(start, options) if entry[0] not in changes)
        for key, value in heapq.merge(stored, changes.items(), key=itemgetter(0)):
            if value is not None:
                yield key, value

    def _stored(self, start: bytes, options: Any) -> Iterator[tuple[bytes, bytes | None]]:
        database = self._opened()
        try:
            iterator = database.iter(options)
            iterator.seek(start)
            while iterator.valid():
                yield iterator.key(), iterator.value()
                iterator.next()
            iterator.status()  # raises if an unreadable block ended the iteration
        except Exception as error:  # rocksdict has no class for it
            raise self._fault(error) from error

    def _opened(self) -> Rdict:
        if self._database is None:
            raise StateClosedError(f"the store {self._path} is closed")
        return self._database

    def _fault(self, error: Exception) -> StateError:
        if type(error).__name__ == "DbClosedError":
            return StateClosedError(f"the store {self._path} is closed")
        return store_error(error, self._path, logged=self._logged, in_use=True)


def _must_be_bytes(what: str, given: object) -> None:
    if not isinstance(given, bytes):
        raise TypeError(f"{what} must be bytes, not {type(given).__name__}")


def _after(prefix: bytes) -> bytes | None:
    """Return the first key after all keys that begin with ``prefix``; None: there is none."""
    stripped = prefix.rstrip(b"\xff")
    return stripped[:-1] + bytes([stripped[-1] + 1]) if stripped else None
