"""Folders and small files where Spark keeps its data: this machine's disk, HDFS, an object store.

Python's own files would only do for the first.  This goes through the Hadoop file systems that Spark itself
uses, with the settings they have there; a call costs about 1 ms on a local disk.
"""

from __future__ import annotations

from contextlib import closing
from typing import Any

__all__ = ["Storage"]


class Storage:
    """What is under one folder.

    Args:
        spark: whose file systems.
        root: the folder, as Spark takes it: a path or a URI.
    """

    def __init__(self, spark: Any, root: str) -> None:
        self._jvm = spark.sparkContext._jvm
        self._path = self._jvm.org.apache.hadoop.fs.Path(root)
        # Of the session, not the context: it has what was set with spark.conf.set, too.
        self._files = self._path.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())
        self.root = root

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
        self._files.mkdirs(self._under(name))

    def read(self, name: str, limit: int = 1 << 20) -> str | None:
        """Text of a small file; None without one."""
        if not self.has(name):
            return None
        with closing(self._files.open(self._under(name))) as stream:
            return bytes(stream.readNBytes(limit)).decode()

    def write(self, name: str, text: str) -> None:
        """Make a small file, with the folders above it; what was there is replaced, whole."""
        partial = self._under(f"{name}.partial")
        with closing(self._files.create(partial, True)) as stream:
            stream.write(bytearray(text.encode()))
        self._files.delete(self._under(name), False)
        self._files.rename(partial, self._under(name))

    def files(self, pattern: str) -> list[str]:
        """Files whose names under the root fit a pattern (``load/date=*/x-*``), sorted, relative to it."""
        root = self._files.makeQualified(self._path).toUri().getPath().rstrip("/") + "/"
        found = self._files.globStatus(self._under(pattern)) or []
        names = [str(status.getPath().toUri().getPath()) for status in found if status.isFile()]
        return sorted(name.removeprefix(root) for name in names)

    def empty_files(self, pattern: str) -> list[str]:
        """Those of ``files`` that have no bytes."""
        return [
            name for name in self.files(pattern) if not self._files.getFileStatus(self._under(name)).getLen()
        ]

    def move(self, name: str, to: str) -> None:
        """Give a file another name, in a folder that is made if need be; what has that name is replaced."""
        target = self._under(to)
        self._files.mkdirs(target.getParent())
        self._files.delete(target, False)
        self._files.rename(self._under(name), target)

    def remove(self, name: str) -> None:
        """Remove a file, or a folder with all that is in it; no effect if it is not there."""
        self._files.delete(self._under(name), True)

    def _listed(self, name: str) -> list[Any]:
        return list(self._files.listStatus(self._under(name))) if self.has(name) else []

    def _under(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self._path, name) if name else self._path
