"""``atomic_write``: the old content or the new one, and nothing beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_assignors.files import atomic_write


@pytest.mark.parametrize("sync", [False, True])
def test_file_is_created_and_replaced(tmp_path: Path, sync: bool) -> None:
    path = tmp_path / "file"
    for data in (b"first", b"second"):
        atomic_write(path, data, sync=sync)
        assert path.read_bytes() == data
    assert list(tmp_path.iterdir()) == [path]


def test_failed_rename_leaves_the_old_file_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    atomic_write(path, b"old")

    def fail(*_: object) -> None:
        raise OSError("no")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="no"):
        atomic_write(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_file_in_a_missing_directory_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        atomic_write(tmp_path / "missing" / "file", b"")


def test_file_has_the_permissions_of_any_new_file(tmp_path: Path) -> None:
    """Others may read the report of a back-test."""
    atomic_write(tmp_path / "atomic", b"")
    (tmp_path / "plain").write_bytes(b"")
    assert (tmp_path / "atomic").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_next_write_overwrites_what_a_crash_left(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.with_name("file.new").write_bytes(b"half")
    atomic_write(path, b"whole")
    assert path.read_bytes() == b"whole"
    assert list(tmp_path.iterdir()) == [path]
