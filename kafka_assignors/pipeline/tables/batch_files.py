"""Which files a batch of a stream has, and that there is something in them.

Spark passes over a file without a byte, and over one that is gone, and says neither.  The first is what is
left of a file that was on its way to the disk when a machine went down; or one that somebody else's program
has opened and not yet filled.  All other damage is an error of Spark's own, which names the file.

Which files a batch has, Spark writes into its checkpoint before it begins, and goes by that when the batch is
done again.  It keeps the form of that from version to version::

    offsets/7      v1, settings, then a line a source: {"logOffset":5}, or - as long as it had nothing
    sources/0/5    v1, then a line a file: {"path":"file:///...","timestamp":...,"batchId":5}

Every tenth of the latter has ``.compact`` in its name, and all files of those before in it, too, above its
own; so only its end is read, however long the stream has run.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING
from urllib.parse import unquote

from kafka_assignors.errors import PipelineError

if TYPE_CHECKING:
    from kafka_assignors.pipeline.tables.storage import Storage

__all__ = ["check_files", "files_of"]

_AT_ONCE = 1 << 16  # bytes of the end of a list: some hundred files
_MANY = 100
"""Files of a folder from which on the folder is listed: that tells of all files of its day, at no more than a
call of the storage for some thousand of them."""


def check_files(storage: Storage, checkpoint: str, batch: int) -> int:
    """See that no file of a batch is empty.

    That takes two calls of the storage a file, as long as a folder has few of them; one a folder of which
    the batch has many, as when a model learns anew, where days of looks are one batch.

    Args:
        storage: with the checkpoint in it.
        checkpoint: its folder there.
        batch: one that is under way.

    Returns:
        How many of its files are gone; Spark reads the others.

    Raises:
        PipelineError: one is empty, or the checkpoint does not tell.
    """
    folders: dict[str, list[str]] = {}
    for file in files_of(storage, checkpoint, batch):
        folders.setdefault(file.rpartition("/")[0], []).append(file)
    gone = 0
    for folder, files in folders.items():
        for file, size in _sizes(storage, folder, files):
            if size == 0:
                raise PipelineError(f"{file} is no whole Parquet file: remove it, or bring a whole one back")
            gone += size is None
    return gone


def _sizes(storage: Storage, folder: str, files: list[str]) -> Iterator[tuple[str, int | None]]:
    """Bytes of files in a folder; None: it is gone."""
    if len(files) < _MANY:
        yield from ((file, storage.size(file)) for file in files)
    else:
        found = storage.sizes(folder)
        yield from ((file, found.get(unquote(file.rpartition("/")[2]))) for file in files)


def files_of(storage: Storage, checkpoint: str, batch: int) -> Iterator[str]:
    """The files of a batch, as URIs.

    Raises:
        PipelineError: the checkpoint does not tell.
    """
    before = _ends(storage, checkpoint, batch - 1) if batch else []
    for source, end in enumerate(_ends(storage, checkpoint, batch)):
        start = before[source] if source < len(before) else -1
        for number in range(start + 1, end + 1):
            yield from _new_in(storage, f"{checkpoint}/sources/{source}/{number}", number)


def _ends(storage: Storage, checkpoint: str, batch: int) -> list[int]:
    """Of each source the last list of files that a batch has; -1: none yet."""
    name = f"{checkpoint}/offsets/{batch}"
    text = storage.read(name)
    if text is None:
        raise _other_form(storage, name)
    try:
        _, *sources = _below_version(text.split("\n"))
        return [-1 if line == "-" else int(json.loads(line)["logOffset"]) for line in sources if line]
    except (KeyError, TypeError, ValueError) as error:
        raise _other_form(storage, name) from error


def _new_in(storage: Storage, name: str, number: int) -> Iterable[str]:
    """The files that came with that list, which are its last."""
    for there in (name, f"{name}.compact"):
        limit = _AT_ONCE
        while (end := storage.read_end(there, limit)) is not None:
            text, whole = end
            lines = text.split("\n")
            try:
                # What is cut begins in the middle of a line.
                found = [json.loads(line) for line in (_below_version(lines) if whole else lines[1:]) if line]
                if whole or any(one["batchId"] != number for one in found):
                    return [str(one["path"]) for one in found if one["batchId"] == number]
            except (KeyError, TypeError, ValueError) as error:
                raise _other_form(storage, there) from error
            limit *= 8
    raise _other_form(storage, name)


def _below_version(lines: list[str]) -> list[str]:
    if lines[0] != "v1":
        raise ValueError(lines[0])
    return lines[1:]


def _other_form(storage: Storage, name: str) -> PipelineError:
    return PipelineError(f"{storage.root}/{name}: this Spark writes its checkpoints in another form")
