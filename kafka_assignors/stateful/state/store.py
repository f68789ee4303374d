"""One task's keys and values, on disk: RocksDB, by way of rocksdict (extra ``stateful``).

What a task's callback changes is held in memory until `commit`, which writes all of it and the offset in the
changelog it belongs to in one atomic step; `rollback` drops it.  So a store never holds half of what a record
did (unless a changelog is restored whose writer was killed), and always knows how far it is.

RocksDB's own log is off where there is a changelog: that is the log.  What was committed is on disk once
`flush` returns, and that is when a checkpoint may be written.  After a crash the store is as it was after
some commit, at the checkpoint or beyond it, and `position` says after which.

Memory: `StoreOptions` bounds what all stores of one `Stores` take together, but for changes that are not
committed yet (`Store.uncommitted_bytes`), and for indexes of open files (`max_open_files` of each store).
"""

from __future__ import annotations

import heapq
import struct
import weakref
from collections.abc import Generator, Iterable, Iterator, Mapping
from operator import itemgetter
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any

from kafka_assignors.errors import StateClosedError, StateDamagedError, StateError
from kafka_assignors.stateful.state.changes import Changes
from kafka_assignors.stateful.state.faults import store_error

if TYPE_CHECKING:
    from rocksdict import Rdict

__all__ = ["Store"]

_POSITION_KEY = b""  # no user's key: it sorts before all of them
_FIRST_KEY = b"\0"
_POSITION = struct.Struct(">Bq")
_FORMAT = 1


class Store:
    """The state of one task: bytes by bytes, in the order of the keys.

    For the callback: `get`, `put`, `delete`, `range`, `prefix`, `approximate_bytes`.  The rest is for what
    runs it. One thread at a time.  A key has at least one byte.

    Raises:
        StateError: (all methods) the disk is full or broken, the store damaged or closed.
        TypeError: (all that take keys or values) something else than bytes.
    """

    def __init__(self, database: Rdict, path: Path, *, logged: bool = True) -> None:
        from rocksdict import ReadOptions, WriteBatch, WriteOptions

        self._database: Rdict | None = database
        self._path = path
        self._new_batch = WriteBatch
        self._read_options = ReadOptions
        self._logged = logged
        self._write_options = WriteOptions()
        # A method in the library's types, an attribute in what it does.
        self._write_options.disable_wal = logged
        self._changes = Changes()
        self._position: int | None = None
        # An iterator keeps the database open, and with it locked.
        self._iterators: weakref.WeakSet[Generator[tuple[bytes, bytes], None, None]] = weakref.WeakSet()

    # --- for the callback

    def get(self, key: bytes) -> bytes | None:
        """The value of a key, None if it has none."""
        _must_be_bytes("a key", key)
        if key in self._changes.values:
            return self._changes.values[key]
        database = self._opened()
        if not key:
            return None
        try:
            value: bytes | None = database.get(key)
        except Exception as error:  # the library has no class for it
            raise self._fault(error) from error
        return value

    def put(self, key: bytes, value: bytes) -> None:
        """Set the value of a key.

        Raises:
            ValueError: an empty key.
        """
        _must_be_bytes("a value", value)
        self._change(key, value)

    def delete(self, key: bytes) -> None:
        """Forget a key, whether it is there or not.

        Raises:
            ValueError: an empty key.
        """
        self._change(key, None)

    def range(self, start: bytes | None = None, end: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        """Keys from ``start`` to before ``end`` (None: the first, after the last) and their values, in order.

        As they are when the first is asked for: what changes meanwhile is not seen.
        """
        for bound in (start, end):
            if bound is not None:
                _must_be_bytes("a bound of keys", bound)
        self._opened()
        iterator = self._merged(start or _FIRST_KEY, end)
        self._iterators.add(iterator)
        return iterator

    def prefix(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """All keys that begin with that, and their values, in order."""
        _must_be_bytes("a prefix", prefix)
        return self.range(prefix, _after(prefix))

    @property
    def approximate_bytes(self) -> int:
        """What the store takes, compressed on disk or not yet written; not exact."""
        database = self._opened()
        on_disk = database.property_int_value("rocksdb.live-sst-files-size") or 0
        in_memory = database.property_int_value("rocksdb.cur-size-all-mem-tables") or 0
        return on_disk + in_memory + self._changes.size

    # --- for what runs it

    @property
    def uncommitted(self) -> Mapping[bytes, bytes | None]:
        """What changed since the last commit, the last change of each key; None: deleted."""
        return MappingProxyType(self._changes.values)

    @property
    def uncommitted_bytes(self) -> int:
        """The memory these take, about."""
        return self._changes.size

    @property
    def position(self) -> int | None:
        """Offset of the changelog's next record after what is committed; None: nothing of it."""
        return self._position

    def commit(self, position: int | None = None) -> None:
        """Write the changes and the new position in one step.

        Args:
            position: offset of the record after the changelog's last that is in it; None: as before.
        """
        self._write(self._changes.values.items(), position)
        self.rollback()

    def rollback(self) -> None:
        """Drop what was not committed."""
        self._changes.clear()

    def begin_record(self) -> None:
        """A record is processed next: what changes from here on belongs together."""
        self._changes.begin_record()

    def undo_record(self) -> None:
        """Drop what changed since `begin_record`, and nothing before it."""
        self._changes.undo_record()

    def apply(self, changes: Iterable[tuple[bytes, bytes | None]], position: int) -> None:
        """Write records of the changelog (a value of None deletes) and the new position in one step.

        Other threads stand still meanwhile (10 ms a megabyte): a few hundred kilobytes at a time.
        """
        self._write(changes, position)

    def flush(self) -> int | None:
        """Bring what is committed to disk, and return its position: what a checkpoint may say.

        It makes a file, or a few: not to be done after each commit.
        """
        database = self._opened()
        try:
            database.flush()
        except Exception as error:  # the library has no class for it
            raise self._fault(error) from error
        return self._position

    def close(self) -> None:
        """Flush what is committed, drop what is not; it is closed in any case.  Twice is no matter."""
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
            except Exception as error:  # the library has no class for it
                raise self._fault(error) from error

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close()

    def load_position(self, at_least: int | None) -> None:
        """Read how far the store is; `Stores.open` does it.

        Raises:
            StateDamagedError: less far than a checkpoint says, or of a format that we do not know.
            StateError: the latter, of a store without a changelog.
        """
        database = self._opened()
        try:
            stored: bytes | None = database.get(_POSITION_KEY)
        except Exception as error:  # the library has no class for it
            raise store_error(error, self._path, logged=self._logged) from error
        if stored is not None:
            if len(stored) != _POSITION.size or stored[0] != _FORMAT:
                wrong = f"the store {self._path} is of another release"
                if not self._logged:
                    raise StateError(f"{wrong}, has no changelog to be restored from, and is left as it is")
                raise StateDamagedError(f"{wrong}: restore it")
            self._position = _POSITION.unpack(stored)[1]
        if at_least is not None and (self._position or 0) < at_least:
            raise StateDamagedError(
                f"the store {self._path} is at offset {self._position or 0}, its checkpoint at {at_least}: "
                "it has to be restored"
            )

    def _change(self, key: bytes, value: bytes | None) -> None:
        _must_be_bytes("a key", key)
        if not key:
            raise ValueError("an empty key")
        self._opened()
        self._changes.set(key, value)

    def _write(self, changes: Iterable[tuple[bytes, bytes | None]], position: int | None) -> None:
        database = self._opened()
        batch = self._new_batch(raw_mode=True)
        put, delete = batch.put, batch.delete
        for key, value in changes:
            if not key:
                continue  # a changelog that others write to may have anything
            if value is None:
                delete(key)
            else:
                put(key, value)
        if position is not None:
            put(_POSITION_KEY, _POSITION.pack(_FORMAT, position))
        try:
            database.write(batch, self._write_options)
        except Exception as error:  # the library has no class for it
            raise self._fault(error) from error
        if position is not None:
            self._position = position

    def _merged(self, start: bytes, end: bytes | None) -> Generator[tuple[bytes, bytes], None, None]:
        """What is on disk, and what changed since: changed keys are taken from the changes."""
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
            iterator.status()  # an end that is none: a block that cannot be read
        except Exception as error:  # the library has no class for it
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
        raise TypeError(f"{what} of {type(given).__name__}, expected bytes")


def _after(prefix: bytes) -> bytes | None:
    """The first key after all that begin with ``prefix``; None: there is none."""
    stripped = prefix.rstrip(b"\xff")
    return stripped[:-1] + bytes([stripped[-1] + 1]) if stripped else None
