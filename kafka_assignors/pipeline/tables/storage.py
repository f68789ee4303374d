"""Folders and small files on the storage of Spark: a local disk, HDFS, an object store.

This module uses Hadoop's file systems with Spark's settings, because Python's own files work only for a local
disk.  A call takes about 1 ms on a local disk.  For some faults Hadoop only returns ``false``; this module
raises an error.
"""

from __future__ import annotations

import os
import re
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from kafka_assignors.errors import PipelineError

_ATOMIC_AT_CLOSE = ("s3a", "gs")
_AT_ONCE = 8 << 20  # bytes
_SPECIAL = re.compile(r"[\\{}\[\]*?]")  # special characters of Hadoop's patterns


class Storage:
    """The files under one folder, a path or a URI for Spark.

    Spark reads a path as a pattern, but writes to it as it is.  So a folder with a pattern's characters is
    refused, unless the caller ``escapes`` them: then it reads only what `to_read` returns.

    Raises:
        PipelineError: the path has such characters, or Spark does not support the storage.  A method that
            fails raises it, or Java's error.
    """

    def __init__(self, spark: Any, root: str, *, escapes: bool = False) -> None:
        self._jvm = spark.sparkContext._jvm
        self.root = root
        # The session's settings, because the context's lack those set with spark.conf.set.
        self._settings = spark._jsparkSession.sessionState().newHadoopConf()
        self._gateway = spark.sparkContext._gateway
        try:
            self._path = self._jvm.org.apache.hadoop.fs.Path(root)
            self._files = self._path.getFileSystem(self._settings)
        except Exception as error:
            raise PipelineError(f"cannot use the folder {root}: {_why(error)}") from error
        if not escapes and (special := _SPECIAL.search(path := self.at(""))):
            raise PipelineError(f"cannot use the folder {path}: Spark reads {special[0]!r} as a pattern")

    def at(self, name: str) -> str:
        """Return the full name of a path under the root, with its scheme."""
        return str(self._files.makeQualified(self._under(name)).toString())

    def to_read(self, name: str) -> str:
        """Return the full name with special characters escaped: Spark reads a name as a pattern."""
        return _SPECIAL.sub(r"\\\g<0>", self.at(name))

    def folders(self, name: str = "") -> list[str]:
        """Return the names of the folders directly under ``name``, sorted; none if it does not exist."""
        statuses = self._files.listStatus(self._under(name)) if self.has(name) else []
        return sorted(str(status.getPath().getName()) for status in statuses if status.isDirectory())

    def has(self, name: str) -> bool:
        """Return whether a file or folder exists."""
        return bool(self._files.exists(self._under(name)))

    def make(self, name: str) -> None:
        """Create a folder and its parents, if it does not exist."""
        folder = self._under(name)
        if not self._files.mkdirs(folder):
            raise self._failure(f"the folder {folder.toString()} could not be made")

    def read(self, name: str, limit: int = 1 << 20) -> str | None:
        """Return the text of a file, or of its last ``limit`` bytes; None if it does not exist."""
        end = self.read_end(name, limit)
        return None if end is None else end[0]

    def read_end(self, name: str, limit: int) -> tuple[str, bool] | None:
        """Return the last ``limit`` bytes of a file as text, and whether these are all; None: no file."""
        if not self.has(name):
            return None
        start = max(int(self._files.getFileStatus(self._under(name)).getLen()) - limit, 0)
        with closing(self._files.open(self._under(name))) as stream:
            stream.seek(start)
            return bytes(stream.readNBytes(limit)).decode(errors="replace"), start == 0

    def write(self, name: str, text: str) -> None:
        """Write a file in parts of 8 MB, and create its parents.

        The replacement is atomic on a local disk (also if the power fails), HDFS, S3 (``s3a``) and Google's
        storage (``gs``).
        """
        scheme, target = str(self._files.getUri().getScheme()), self._under(name)
        self.make(name.rpartition("/")[0])
        fs, files, written = self._jvm.org.apache.hadoop.fs, self._files, target
        if scheme == "file":
            files = files.getRawFileSystem()  # without checksums, which are files of their own
        if scheme not in _ATOMIC_AT_CLOSE:
            written = fs.Path(target.getParent(), f".{target.getName()}.partial")
        stream = files.create(written, True)
        try:
            data = text.encode()
            for start in range(0, len(data), _AT_ONCE):  # py4j copies each part as text
                stream.write(bytearray(data[start : start + _AT_ONCE]))
            if scheme == "file":
                stream.hsync()
        except BaseException:
            with suppress(Exception):  # the first error counts, and not each storage can abort
                # There ``close`` would replace the target by the parts written so far.
                (stream.abort if scheme in _ATOMIC_AT_CLOSE else stream.close)()
            raise
        stream.close()
        if scheme == "file":
            files.delete(fs.Path(target.getParent(), f".{target.getName()}.crc"), False)
            if not files.rename(written, target):  # replaces a file only on a local disk
                raise self._failure(f"{name} could not be written")
        elif written is not target:
            kinds = getattr(fs, "Options$Rename")
            overwrite = self._gateway.new_array(kinds, 1)
            overwrite[0] = kinds.OVERWRITE
            context = fs.FileContext.getFileContext(files.getUri(), self._settings)
            context.rename(files.makeQualified(written), files.makeQualified(target), overwrite)

    def sync(self, name: str) -> None:
        """Write a file through to a local disk; do nothing on another storage."""
        if self._files.getUri().getScheme() == "file":
            path = self._files.makeQualified(self._under(name)).toUri().getPath()
            with Path(path).open("rb") as file:
                os.fsync(file.fileno())

    def files(self, pattern: str) -> list[str]:
        """Return the files that match a pattern (``load/date=*/x-*``), sorted, relative to the root."""
        plain = _SPECIAL.sub(r"\\\g<0>", str(self._path.toString()))
        statuses = self._files.globStatus(self._jvm.org.apache.hadoop.fs.Path(plain, pattern)) or []
        names = [str(status.getPath().toUri().getPath()) for status in statuses if status.isFile()]
        root = str(self._files.makeQualified(self._path).toUri().getPath()).rstrip("/") + "/"
        return sorted(name.removeprefix(root) for name in names)

    def newest_batch(self, folder: str) -> int:
        """Return the newest batch with a file, such as ``9`` or ``9.compact``, in a folder; -1: none."""
        names = (name.rpartition("/")[2] for name in self.files(f"{folder}/[0-9]*"))
        return max((int(name.removesuffix(".compact")) for name in names), default=-1)

    def empty_files(self, pattern: str) -> list[str]:
        """Return the empty files that match a pattern."""
        return [
            name for name in self.files(pattern) if not self._files.getFileStatus(self._under(name)).getLen()
        ]

    def is_empty(self) -> bool:
        """Return whether the folder, which exists, has no files and no folders."""
        return not self._files.listStatus(self._path)

    def size(self, uri: str) -> int | None:
        """Return the size of a file of the same scheme, bytes; None if it does not exist."""
        path = self._jvm.org.apache.hadoop.fs.Path(self._jvm.java.net.URI(uri))
        return int(self._files.getFileStatus(path).getLen()) if self._files.exists(path) else None

    def sizes(self, uri: str) -> dict[str, int]:
        """Return the sizes of the files in a folder, bytes by name; empty if it is missing."""
        path = self._jvm.org.apache.hadoop.fs.Path(self._jvm.java.net.URI(uri))
        statuses = self._files.listStatus(path) if self._files.exists(path) else []
        return {
            str(status.getPath().getName()): int(status.getLen()) for status in statuses if status.isFile()
        }

    def move(self, name: str, to: str) -> None:
        """Move a file to the name ``to``; create its folder, and replace an existing file."""
        if not self.has(name):  # before the existing file is removed
            raise PipelineError(f"{self.root}: {name} is gone")
        self.make(to.rpartition("/")[0])
        self.remove(to)
        if not self._files.rename(self._under(name), self._under(to)):
            raise self._failure(f"{name} could not be moved to {to}")

    def remove(self, name: str) -> None:
        """Remove a file or a folder, if it exists."""
        # ``delete`` also returns false if the file does not exist.
        if not self._files.delete(self._under(name), True) and self.has(name):
            raise self._failure(f"{name} could not be removed")

    def _failure(self, what: str) -> PipelineError:
        return PipelineError(f"{self.root}: {what}: check free space and permissions")

    def _under(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self._path, name) if name else self._path


def _why(error: Exception) -> str:
    """Return Java's message as one line, with advice if a class is missing."""
    java = getattr(error, "java_exception", None)
    message = str(java.toString() if java is not None else error).partition("\n")[0]
    if "ClassNotFoundException" in message or "UnsupportedFileSystemException" in message:
        kind = message.rpartition(": ")[2]
        return (
            f"this Spark has no support for it ({kind}): give spark-submit its --packages, such as "
            f"org.apache.hadoop:hadoop-aws for s3a"
        )
    return message
