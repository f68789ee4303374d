"""Which files a batch of a stream has, and that there is something in them.

Spark passes over a file without a byte, and over one that is gone, and says neither.  The first is what is
left of a file that was on its way to the disk when a machine went down; or one that somebody else's program
has opened and not yet filled.  All other damage is an error of Spark's own, which names the file.

Which files a batch has, Spark writes into its checkpoint before it begins, and goes by that when the batch is
done again.  It keeps the form of that from version to version::

    offsets/7      v1, settings, then a line a source: {"logOffset":5}, or - as long as it had nothing
    sources/0/5    v1, then a line a file: {"path":"file:///...","timestamp":...,"batchId":5}

Every tenth of the latter has ``.compact`` in its name, and all files of those before in it, too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kafka_assignors.errors import PipelineError

if TYPE_CHECKING:
    from kafka_assignors.spark.storage import Storage

__all__ = ["check_files", "files_of"]

_LONGEST = 1 << 30  # bytes of such a list; one that has all files of years


def check_files(storage: Storage, checkpoint: str, batch: int) -> int:
    """See that no file of a batch is empty; three calls of the file system a file.

    Args:
        storage: with the checkpoint in it.
        checkpoint: its folder there.
        batch: one that is under way.

    Returns:
        How many of its files are gone; Spark reads the others.

    Raises:
        PipelineError: one is empty, or the checkpoint does not tell.
    """
    gone = 0
    for file in files_of(storage, checkpoint, batch):
        size = storage.size(file)
        if size == 0:
            raise PipelineError(f"{file} is no whole Parquet file: remove it, or bring a whole one back")
        gone += size is None
    return gone


def files_of(storage: Storage, checkpoint: str, batch: int) -> Iterator[str]:
    """The files of a batch, as URIs.

    Raises:
        PipelineError: the checkpoint does not tell.
    """
    before = _ends(storage, checkpoint, batch - 1) if batch else []
    for source, end in enumerate(_ends(storage, checkpoint, batch)):
        start = before[source] if source < len(before) else -1
        for number in range(start + 1, end + 1):
            name = f"{checkpoint}/sources/{source}/{number}"
            for line in filter(None, _lines(storage, name, f"{name}.compact")):
                found = json.loads(line)
                if found["batchId"] == number:
                    yield str(found["path"])


def _ends(storage: Storage, checkpoint: str, batch: int) -> list[int]:
    """Of each source the last list of files that a batch has; -1: none yet."""
    _, *sources = _lines(storage, f"{checkpoint}/offsets/{batch}")
    return [-1 if line == "-" else int(json.loads(line)["logOffset"]) for line in sources if line]


def _lines(storage: Storage, *names: str) -> list[str]:
    """Those of the first of these files that is there, without that of the version."""
    for name in names:
        if (text := storage.read(name, _LONGEST)) is not None:
            version, *lines = text.split("\n")
            if version == "v1":
                return lines
            break
    raise PipelineError(f"{storage.root}/{names[0]}: this Spark writes its checkpoints in another form")
