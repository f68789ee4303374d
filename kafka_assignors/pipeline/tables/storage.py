"""Folders and small files where Spark keeps its data: this machine's disk, HDFS, an object store.

Python's own files would only do for the first.  This goes through the Hadoop file systems that Spark itself
uses, with the settings they have there; a call costs about 1 ms on a local disk.

Those say of some faults only that they did not do it (``false``).  Here that is an error as any other.
"""

from __future__ import annotations

import re
from contextlib import closing
from typing import Any

from kafka_assignors.errors import PipelineError

__all__ = ["Storage"]

_SPECIAL = re.compile(r"[\\{}\[\]*?^]")  # in the names that ``files`` looks for


class Storage:
    """What is under one folder.

    Args:
        spark: whose file systems.
        root: the folder, as Spark takes it: a path or a URI.

    Raises:
        PipelineError: Spark knows no such storage; so do all methods, where a file system does not do what
            it was told.
    """

    def __init__(self, spark: Any, root: str) -> None:
        self._jvm = spark.sparkContext._jvm
        self.root = root
        # Of the session, not the context: it has what was set with spark.conf.set, too.
        settings = spark._jsparkSession.sessionState().newHadoopConf()
        try:
            self._path = self._jvm.org.apache.hadoop.fs.Path(root)
            self._files = self._path.getFileSystem(settings)
        except Exception as error:
            raise PipelineError(f"cannot use the folder {root}: {_why(error)}") from error

    def at(self, name: str) -> str:
        """The full name of something under the root, with its scheme."""
        return str(self._files.makeQualified(self._under(name)).toString())

    def folders(self, name: str = "") -> list[str]:
        """Names of the folders directly under ``name``, sorted; none if that is not there itself."""
        return sorted(str(s.getPath().getName()) for s in self._listed(name) if s.isDirectory())

    def has(self, name: str) -> bool:
        """Whether there is a file or folder of that name."""
        return bool(self._files.exists(self._under(name)))

    def make(self, name: str) -> None:
        """Make a folder, with those above it; nothing happens if it is there."""
        self._make(self._under(name))

    def read(self, name: str, limit: int = 1 << 20) -> str | None:
        """Text of a small file; None without one."""
        if not self.has(name):
            return None
        with closing(self._files.open(self._under(name))) as stream:
            return bytes(stream.readNBytes(limit)).decode(errors="replace")

    def read_end(self, name: str, limit: int) -> tuple[str, bool] | None:
        """The last so many bytes of a file as text, and whether that is all of it; None without one."""
        if not self.has(name):
            return None
        start = max(int(self._files.getFileStatus(self._under(name)).getLen()) - limit, 0)
        with closing(self._files.open(self._under(name))) as stream:
            stream.seek(start)
            return bytes(stream.readNBytes(limit)).decode(errors="replace"), start == 0

    def write(self, name: str, text: str) -> None:
        """Make a small file, with the folders above it; it is there whole, or not at all.

        One that was there is removed first: whoever looks, or crashes, in between finds none.
        """
        partial = f"{name}.partial"
        with closing(self._files.create(self._under(partial), True)) as stream:
            stream.write(bytearray(text.encode()))
        self.move(partial, name)

    def files(self, pattern: str) -> list[str]:
        """Files whose names under the root fit a pattern (``load/date=*/x-*``), sorted, relative to it."""
        plain = _SPECIAL.sub(r"\\\g<0>", str(self._path.toString()))
        found = self._files.globStatus(self._jvm.org.apache.hadoop.fs.Path(plain, pattern)) or []
        names = [str(status.getPath().toUri().getPath()) for status in found if status.isFile()]
        root = str(self._files.makeQualified(self._path).toUri().getPath()).rstrip("/") + "/"
        return sorted(name.removeprefix(root) for name in names)

    def empty_files(self, pattern: str) -> list[str]:
        """Those of ``files`` that have no bytes."""
        return [
            name for name in self.files(pattern) if not self._files.getFileStatus(self._under(name)).getLen()
        ]

    def size(self, uri: str) -> int | None:
        """Bytes of a file, wherever under the same scheme it lies; None: it is not there."""
        path = self._jvm.org.apache.hadoop.fs.Path(self._jvm.java.net.URI(uri))
        return int(self._files.getFileStatus(path).getLen()) if self._files.exists(path) else None

    def sizes(self, uri: str) -> dict[str, int]:
        """Bytes of each file in a folder, by its own name, in one call; none: it is not there."""
        path = self._jvm.org.apache.hadoop.fs.Path(self._jvm.java.net.URI(uri))
        found = self._files.listStatus(path) if self._files.exists(path) else []
        return {str(status.getPath().getName()): int(status.getLen()) for status in found if status.isFile()}

    def move(self, name: str, to: str) -> None:
        """Give a file another name, in a folder that is made if need be; what has that name is removed."""
        target = self._under(to)
        self._make(target.getParent())
        self.remove(to)
        if not self._files.rename(self._under(name), target):
            raise self._failed(f"{name} could not be moved to {to}")

    def remove(self, name: str) -> None:
        """Remove a file, or a folder with all that is in it; no effect if it is not there."""
        # False is also said of what was not there.
        if not self._files.delete(self._under(name), True) and self.has(name):
            raise self._failed(f"{name} could not be removed")

    def _make(self, folder: Any) -> None:
        if not self._files.mkdirs(folder):
            raise self._failed(f"the folder {folder.toString()} could not be made")

    def _failed(self, what: str) -> PipelineError:
        return PipelineError(f"{self.root}: {what}: see that there is room and that we may write there")

    def _listed(self, name: str) -> list[Any]:
        return list(self._files.listStatus(self._under(name))) if self.has(name) else []

    def _under(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self._path, name) if name else self._path


def _why(error: Exception) -> str:
    """Why there is no file system, in a line; Java says it in pages."""
    java = getattr(error, "java_exception", None)
    said = str(java.toString() if java is not None else error).partition("\n")[0]
    if "ClassNotFoundException" in said or "UnsupportedFileSystemException" in said:
        kind = said.rpartition(": ")[2]
        return (
            f"this Spark lacks what it takes ({kind}); give spark-submit its --packages, such as "
            f"org.apache.hadoop:hadoop-aws for s3a"
        )
    return said
