"""Opens the stores of one consumer, which share a limit of memory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kafka_assignors.errors import StateError, needs_extra
from kafka_assignors.stateful.state.faults import store_error
from kafka_assignors.stateful.state.store import Store
from kafka_assignors.validators import whole

_MIB = 1024 * 1024
_LEAST = {"block_cache_bytes": _MIB, "write_buffer_bytes": _MIB, "max_open_files": 16}


@dataclass(frozen=True, slots=True)
class StoreOptions:
    """Memory and files of the stores of one consumer.

    Attributes:
        block_cache_bytes: cache for reads, of all stores together.
        write_buffer_bytes: committed changes that are not flushed, of all stores together.  A store is
            flushed in the background when its changes reach an eighth of this limit or 1 MiB, whichever is
            larger, and earlier when all stores together approach the limit.
        max_open_files: of each store.

    Raises:
        OptionError: a value is not a whole number, or is too small.
    """

    block_cache_bytes: int = 64 * _MIB
    write_buffer_bytes: int = 64 * _MIB
    max_open_files: int = 64

    def __post_init__(self) -> None:
        for option, least in _LEAST.items():
            whole(option, getattr(self, option), least)


class Stores:
    """Opens stores that share their memory.

    Raises:
        MissingExtraError: rocksdict is not installed.
    """

    def __init__(self, options: StoreOptions | None = None) -> None:
        with needs_extra("stateful"):
            import rocksdict
        self._library: Any = rocksdict
        self._options = options or StoreOptions()
        self._cache = rocksdict.Cache(self._options.block_cache_bytes)
        self._buffers = rocksdict.WriteBufferManager(self._options.write_buffer_bytes, False)

    def open(self, path: Path, at_least: int | None = None, *, logged: bool = True) -> Store:
        """Open a store; creates it if missing.

        Args:
            path: its directory; it and its parents are created if missing.
            at_least: the offset of its checkpoint; None: there is no checkpoint.
            logged: whether it has a changelog.  A store without one keeps RocksDB's own log, so that commits
                outlive the process.

        Raises:
            StateDamagedError: it is damaged, behind its checkpoint, or has a position of unknown format: wipe
                and restore it.  Without a changelog, only corruption that is not about a missing file raises
                this.
            StateError: it cannot be opened; also any other damage of a store without a changelog.
        """
        try:
            database = self._library.Rdict(str(path), self._settings())
        except Exception as error:  # rocksdict has no class for it
            raise store_error(error, path, logged=logged) from error
        store = Store(database, path, logged=logged)
        try:
            store.load_position(at_least)
        except StateError:
            database.close()
            raise
        return store

    def _settings(self) -> Any:
        settings = self._library.Options(raw_mode=True)
        settings.create_if_missing(True)
        table = self._library.BlockBasedOptions()
        table.set_block_cache(self._cache)
        table.set_bloom_filter(10, False)
        settings.set_block_based_table_factory(table)
        settings.set_compression_type(self._library.DBCompressionType.lz4())
        settings.set_write_buffer_manager(self._buffers)
        settings.set_write_buffer_size(max(self._options.write_buffer_bytes // 8, _MIB))
        settings.set_max_write_buffer_number(2)
        settings.set_arena_block_size(64 * 1024)  # many stores may write little each
        settings.set_max_open_files(self._options.max_open_files)
        settings.set_max_background_jobs(2)
        settings.set_keep_log_file_num(1)
        settings.set_max_log_file_size(_MIB)
        settings.set_stats_dump_period_sec(0)
        return settings
