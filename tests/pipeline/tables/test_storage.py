"""Folders and small files through Spark's file systems."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kafka_assignors.errors import PipelineError
from kafka_assignors.pipeline.tables.storage import Storage


class Refusing:
    """A file system that refuses some operations and returns ``false``, as Hadoop's do."""

    def __init__(self, files: Any, *refused: str) -> None:
        self._files = files
        self._refused = refused

    def __getattr__(self, name: str) -> Any:
        return (lambda *_: False) if name in self._refused else getattr(self._files, name)


@pytest.fixture(params=["plain", "with a space", "100%", "a%20b", "[x]{y,z}*?", "a^b"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A folder that does not exist yet."""
    return tmp_path / str(request.param)


def refusing(spark: SparkSession, root: Path, *refused: str) -> Storage:
    storage = Storage(spark, str(root))
    storage._files = Refusing(storage._files, *refused)
    return storage


def test_file_is_written_read_listed_moved_and_removed(spark: SparkSession, root: Path) -> None:
    storage = Storage(spark, str(root), escapes=True)
    assert (storage.read("a/b.json"), storage.folders(), storage.files("a/*")) == (None, [], [])
    storage.write("a/b.json", "größe")
    storage.write("a/b.json", "new")
    assert (root / "a" / "b.json").read_text() == "new"
    assert storage.read("a/b.json") == "new"
    assert not list((root / "a").glob(".*partial*"))
    storage.write("a/d=1/x-2.json", "")
    storage.write("a/d=1/y-2.json", "")
    storage.write("a/d=0/x-1.json", "")
    assert storage.files("a/d=*/x-*.json") == ["a/d=0/x-1.json", "a/d=1/x-2.json"]
    assert storage.folders("a") == ["d=0", "d=1"]
    storage.write("a/lists/9.compact", "")
    storage.write("a/lists/10", "")
    assert [storage.newest_batch(f"a/{name}") for name in ("lists", "d=1", "none")] == [10, -1, -1]
    assert storage.sizes((root / "a").as_uri()) == {"b.json": 3}
    assert storage.size((root / "a" / "b.json").as_uri()) == 3
    assert storage.sizes((root / "nowhere").as_uri()) == {}
    storage.move("a/b.json", "a/d=1/x-2.json")
    assert not storage.has("a/b.json")
    assert storage.read("a/d=1/x-2.json") == "new"
    assert storage.at("a").endswith("/a")
    storage.remove("a")
    storage.remove("a")
    assert not (root / "a").exists()


def test_folder_is_created_with_its_parents(spark: SparkSession, root: Path) -> None:
    storage = Storage(spark, str(root), escapes=True)
    for _ in range(2):
        storage.make("a/b")
    assert (root / "a" / "b").is_dir()


def test_failed_move_is_an_error_and_keeps_the_file(spark: SparkSession, tmp_path: Path) -> None:
    storage = refusing(spark, tmp_path, "rename")
    (tmp_path / "a").write_text("all there is")
    with pytest.raises(PipelineError, match=r"a could not be moved to b/c: check free space"):
        storage.move("a", "b/c")
    assert (tmp_path / "a").read_text() == "all there is"


def test_move_of_a_missing_file_keeps_the_existing_one(spark: SparkSession, tmp_path: Path) -> None:
    """Another run may have landed the same batch, and have removed the staged files of this one."""
    (tmp_path / "b").write_text("all there is")
    with pytest.raises(PipelineError, match="a is gone"):
        Storage(spark, str(tmp_path)).move("a", "b")
    assert (tmp_path / "b").read_text() == "all there is"


@pytest.mark.parametrize("name", ["make", "move", "write"])
def test_failed_creation_of_a_folder_is_an_error(spark: SparkSession, tmp_path: Path, name: str) -> None:
    storage = refusing(spark, tmp_path, "mkdirs")
    (tmp_path / "a").write_text("")
    with pytest.raises(PipelineError, match="could not be made"):
        getattr(storage, name)(*{"make": ("b",), "move": ("a", "b/c"), "write": ("b/c", "")}[name])


def test_failed_removal_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    storage = refusing(spark, tmp_path, "delete")
    (tmp_path / "a").write_text("")
    with pytest.raises(PipelineError, match="a could not be removed"):
        storage.remove("a")
    storage.remove("b")  # which is not there


@pytest.mark.parametrize(
    ("root", "message"),
    [
        ("s3a://bucket/pipeline", r"S3AFileSystem.*--packages, such as org\.apache\.hadoop:hadoop-aws"),
        ("no-such://pipeline", r"No FileSystem for scheme"),
        ("", r"empty"),
        ("/data/team[a]", r"cannot use the folder file:/data/team\[a\]: Spark reads '\[' as a pattern"),
    ],
)
def test_unknown_storage_is_an_error_of_one_line(spark: SparkSession, root: str, message: str) -> None:
    with pytest.raises(PipelineError, match=message) as caught:
        Storage(spark, root)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400
