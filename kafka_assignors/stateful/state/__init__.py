"""State on disk.  Knows nothing of kafka.

- ``state_dir``: the directory, locked and cleaned.  ``task_dir``: one task's.  ``removal``: of directories.
- ``store``, ``stores``: keys and values in RocksDB.  ``changes``: not flushed yet.
- ``checkpoint``: the changelog offsets a store has.  ``copy``: a task's store, opened and checked.
- ``on_disk``: closed copies.  ``files``: files that are whole or absent.  ``faults``: errors as ours.
"""
