"""State on disk.  Imports nothing of kafka.

- ``state_dir``: the directory, locked and cleaned.  ``task_dir``: one task's.
- ``store``, ``stores``: keys and values in RocksDB.  ``changes``: uncommitted changes in memory.
- ``checkpoint``: the changelog offset that a store has reached on disk.
- ``copy``: a task's store, opened and checked.
- ``closed_copies``: copies on disk that are not open.  ``files``: reads, writes, deletions.
- ``faults``: turns errors of the system and of RocksDB into our own.
"""
