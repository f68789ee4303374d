"""Checks the files of a streaming batch for empty and deleted ones.

Spark silently ignores an empty file, and one that is deleted before Spark lists the batch.  A file may be
empty after a crash of the machine that wrote it, or while another program writes it.  For all other damage
Spark raises an error that names the file.

Spark writes the names of a batch's files into its checkpoint before the batch starts, and reads them from
there when the batch is repeated.  The format is stable across versions::

    offsets/7      v1, settings, then a line for each source: {"logOffset":5}, or - while it has no files
    sources/0/5    v1, then a line for each file: {"path":"file:///...","timestamp":...,"batchId":5}

At a fixed interval, the name of a list under ``sources`` ends with ``.compact``.  Such a list has all earlier
files before its own.  So only the end of a list is read, however long the stream has run.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING
from urllib.parse import unquote

from kafka_assignors.errors import PipelineError
from kafka_assignors.pipeline.tables.checkpoints import LEARN_AGAIN

if TYPE_CHECKING:
    from kafka_assignors.pipeline.tables.storage import Storage

_AT_ONCE = 1 << 16  # bytes read from the end of a list: some hundred files
_MANY = 100
"""A folder with this many files of a batch is listed: one call returns some thousand files."""


def check_files(storage: Storage, checkpoint: str, batch: int) -> int:
    """Check that no file of a running batch is empty; return the number of deleted files.

    Cost: two calls of the storage for each file.  A folder with many files of the batch takes two calls in
    all; the first batch of a new model, with days of samples, has such folders.
    """
    folders: dict[str, list[str]] = {}
    for file in files_of(storage, checkpoint, batch):
        folders.setdefault(file.rpartition("/")[0], []).append(file)
    gone = 0
    for folder, files in folders.items():
        listed = storage.sizes(folder) if len(files) >= _MANY else None
        for file in files:
            name = unquote(file.rpartition("/")[2])
            size = storage.size(file) if listed is None else listed.get(name)
            if size == 0:
                raise PipelineError(f"{file} is not a complete Parquet file: remove or restore it")
            gone += size is None
    return gone


def files_of(storage: Storage, checkpoint: str, batch: int) -> Iterator[str]:
    """Yield the files of a batch, as URIs; a checkpoint that cannot be read is an error."""
    before = _ends(storage, checkpoint, batch - 1) if batch else []
    for source, end in enumerate(_ends(storage, checkpoint, batch)):
        start = before[source] if source < len(before) else -1
        for number in range(start + 1, end + 1):
            yield from _new_in(storage, f"{checkpoint}/sources/{source}/{number}", number)


def _ends(storage: Storage, checkpoint: str, batch: int) -> list[int]:
    """Return, by source, the number of the last list of files that a batch includes; -1: none yet."""
    name = f"{checkpoint}/offsets/{batch}"
    try:
        _, *sources = _below_version((storage.read(name) or "").split("\n"))
        return [-1 if line == "-" else int(json.loads(line)["logOffset"]) for line in sources if line]
    except (KeyError, TypeError, ValueError) as error:
        raise _unknown_format(storage, name) from error


def _new_in(storage: Storage, name: str, number: int) -> Iterable[str]:
    """Return the files that a list adds, which are its last ones."""
    for path in (name, f"{name}.compact"):
        limit = _AT_ONCE
        while (end := storage.read_end(path, limit)) is not None:
            text, whole = end
            lines = text.split("\n")
            try:
                # A cut text begins in the middle of a line.
                lines = _below_version(lines) if whole else lines[1:]
                entries = [json.loads(line) for line in lines if line]
                if whole or any(entry["batchId"] != number for entry in entries):
                    return [str(entry["path"]) for entry in entries if entry["batchId"] == number]
            except (KeyError, TypeError, ValueError) as error:
                raise _unknown_format(storage, path) from error
            limit *= 8
    raise _unknown_format(storage, name)


def _below_version(lines: list[str]) -> list[str]:
    if lines[0] != "v1":
        raise ValueError(lines[0])
    return lines[1:]


def _unknown_format(storage: Storage, name: str) -> PipelineError:
    return PipelineError(f"{storage.root}/{name} is missing, damaged or in an unknown format: {LEARN_AGAIN}")
