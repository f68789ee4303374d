"""Which files a batch has, as Spark's checkpoint tells; and what is said of those that are empty or gone."""

from __future__ import annotations

import json
from typing import cast
from urllib.parse import unquote

import pytest

from kafka_assignors.errors import PipelineError
from kafka_assignors.pipeline.tables.batch_files import check_files, files_of
from kafka_assignors.pipeline.tables.storage import Storage

LOAD = "checkpoints/load"


class Memory:
    """What the checks ask of a storage: texts by name, sizes by URI."""

    root = "pipeline"

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.bytes_read = 0
        self.known: dict[str, int] = {}
        self.asked = 0

    def read(self, name: str) -> str | None:
        return self.texts.get(name)

    def read_end(self, name: str, limit: int) -> tuple[str, bool] | None:
        if name not in self.texts:
            return None
        data = self.texts[name].encode()
        self.bytes_read += min(limit, len(data))
        return data[-limit:].decode(errors="replace"), len(data) <= limit

    def size(self, uri: str) -> int | None:
        self.asked += 1
        return self.known.get(uri)

    def sizes(self, uri: str) -> dict[str, int]:
        self.asked += 1
        inside = ((file.rpartition("/"), size) for file, size in self.known.items())
        return {unquote(name): size for (folder, _, name), size in inside if folder == uri}

    def batch(self, number: int, *ends: int | None) -> None:
        """Each source's last list in a batch."""
        lines = ["-" if end is None else json.dumps({"logOffset": end}) for end in ends]
        self.texts[f"{LOAD}/offsets/{number}"] = "\n".join(["v1", '{"conf":{}}', *lines])

    def files(self, source: int, name: str, **files: int) -> None:
        """A list: file -> number of the list it came with."""
        lines = [json.dumps({"path": file, "timestamp": 1, "batchId": n}) for file, n in files.items()]
        self.texts[f"{LOAD}/sources/{source}/{name}"] = "\n".join(["v1", *lines])
        self.known |= dict.fromkeys(files, 10)


@pytest.fixture
def memory() -> Memory:
    """Two writers; the second has nothing for a while."""
    memory = Memory()
    memory.batch(0, 0, None)
    memory.batch(1, 2, 0)
    memory.batch(2, 2, 0)
    memory.files(0, "0", a=0)
    memory.files(0, "1", b=1, c=1)
    memory.files(0, "2.compact", a=0, b=1, c=1, d=2)
    memory.files(1, "0", x=0)
    return memory


def found(memory: Memory, batch: int) -> list[str]:
    return list(files_of(cast(Storage, memory), LOAD, batch))


def test_batch_has_the_files_since_the_batch_before(memory: Memory) -> None:
    assert found(memory, 0) == ["a"]
    assert found(memory, 1) == ["b", "c", "d", "x"]
    assert found(memory, 2) == []


@pytest.mark.parametrize("last", [1, 5_000])
def test_only_the_end_of_a_long_list_is_read(memory: Memory, last: int) -> None:
    old = {f"file:/älter/{n}": n % 9 for n in range(20_000)}
    new = {f"file:/new/{n}": 9 for n in range(last)}
    memory.batch(3, 9, 0)
    memory.batch(2, 8, 0)
    memory.files(0, "9.compact", **old, **new)
    assert found(memory, 3) == list(new)
    size = len(memory.texts[f"{LOAD}/sources/0/9.compact"].encode())
    assert memory.bytes_read < (size / 10 if last == 1 else 2 * size)


def test_deleted_file_is_counted_and_empty_file_is_an_error(memory: Memory) -> None:
    storage = cast(Storage, memory)
    memory.known["a"] = 0  # which the batch before has read
    del memory.known["c"], memory.known["x"]
    assert check_files(storage, LOAD, 1) == 2
    memory.known["d"] = 0
    with pytest.raises(PipelineError, match="d is not a complete Parquet file: remove or restore it"):
        check_files(storage, LOAD, 1)


@pytest.mark.parametrize("files", [99, 100, 5_000])
def test_folder_with_many_files_of_a_batch_is_listed(memory: Memory, files: int) -> None:
    days = ["file:/d/date=1", "file:/d/date=2"]
    names = [f"{day}/a%20b-{n}" for day in days for n in range(files)]
    memory.batch(3, 9, 0)
    memory.batch(2, 8, 0)
    memory.files(0, "9", **dict.fromkeys(names, 9))
    del memory.known[names[0]], memory.known[names[-1]]
    assert check_files(cast(Storage, memory), LOAD, 3) == 2
    assert memory.asked == (2 * files if files < 100 else 2)
    memory.known[names[files]] = 0
    with pytest.raises(PipelineError, match=f"{names[files]} is not a complete Parquet file"):
        check_files(cast(Storage, memory), LOAD, 3)


@pytest.mark.parametrize("name", [f"{LOAD}/offsets/1", f"{LOAD}/offsets/0", f"{LOAD}/sources/0/1"])
def test_checkpoint_in_another_format_is_an_error(memory: Memory, name: str) -> None:
    memory.texts[name] = memory.texts[name].replace("v1", "v2", 1)
    with pytest.raises(PipelineError, match=f"pipeline/{name} is missing, .* format: to learn again"):
        found(memory, 1)
    del memory.texts[name]
    with pytest.raises(PipelineError, match=name):
        found(memory, 1)
