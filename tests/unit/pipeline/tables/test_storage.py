"""Files that are written through to the disk, without Spark."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest

from kafka_assignors.pipeline.tables import storage as storage_module
from kafka_assignors.pipeline.tables.storage import Storage


def storage_of(scheme: str, path: object = "") -> tuple[Storage, Any]:
    """Return a storage whose file system only notes its calls, and the file system."""
    storage, files = object.__new__(Storage), MagicMock()
    storage._jvm = storage._gateway = storage._settings = storage._path = MagicMock()
    storage._files = files
    files.getUri().getScheme.return_value = scheme
    files.makeQualified().toUri().getPath.return_value = str(path)
    return storage, files


@pytest.mark.parametrize(
    ("scheme", "calls"), [("file", ["write", "hsync", "close"]), ("s3a", ["write", "close"])]
)
def test_small_file_is_on_a_local_disk_before_it_gets_its_name(scheme: str, calls: list[str]) -> None:
    """After a power loss, a renamed file may otherwise be empty."""
    storage, files = storage_of(scheme)
    storage.write("a", "text")
    stream = (files.getRawFileSystem() if scheme == "file" else files).create()
    assert [name for name, *_ in stream.method_calls] == calls


def test_large_file_is_written_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Java's memory would not hold the results of a large back-test at once."""
    monkeypatch.setattr(storage_module, "_AT_ONCE", 4)
    storage, files = storage_of("s3a")
    storage.write("a", "0123456789")
    assert [call.args[0] for call in files.create().write.call_args_list] == [b"0123", b"4567", b"89"]


@pytest.mark.parametrize(
    ("scheme", "end"), [("file", "close"), ("hdfs", "close"), ("s3a", "abort"), ("gs", "abort")]
)
@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_file_that_is_cut_short_does_not_replace_the_last_one(
    monkeypatch: pytest.MonkeyPatch, scheme: str, end: str, error: type[BaseException]
) -> None:
    """S3 and Google's storage replace a file when the new one is closed."""
    monkeypatch.setattr(storage_module, "_AT_ONCE", 4)
    storage, files = storage_of(scheme)
    raw = files.getRawFileSystem() if scheme == "file" else files
    stream = raw.create()
    stream.write.side_effect = [None, error]
    stream.abort.side_effect = RuntimeError("not supported")
    with pytest.raises(error):
        storage.write("a", "0123456789")
    assert [name for name, *_ in stream.method_calls] == ["write", "write", end]
    raw.rename.assert_not_called()


@pytest.mark.parametrize(("scheme", "synced"), [("file", 1), ("hdfs", 0)])
def test_only_a_local_file_is_synced(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, scheme: str, synced: int
) -> None:
    descriptors: list[int] = []
    monkeypatch.setattr(os, "fsync", descriptors.append)
    (tmp_path / "a").write_text("")
    storage, _ = storage_of(scheme, tmp_path / "a")
    storage.sync("a")
    assert len(descriptors) == synced
