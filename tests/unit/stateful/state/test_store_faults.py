"""Stores after a killed process, on a full disk, or with damaged files."""

from __future__ import annotations

import errno
import json
import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from kafka_assignors.errors import StateDamagedError, StateError
from kafka_assignors.plan import TopicPartition
from kafka_assignors.stateful import StateDir, Store, Stores
from kafka_assignors.stateful.state.faults import state_errors, store_error
from tests.unit.stateful.processes import program, run
from tests.unit.stateful.state.numbered_changes import SMALL, changes, contents

DAMAGED = b"cannot be read"

WRITER = """
import sys
from kafka_assignors.plan import TopicPartition
from kafka_assignors.stateful import Position, StateDir, Stores
from tests.unit.stateful.state.numbered_changes import SMALL, changes
with StateDir(sys.argv[1], "app") as state, state.claim(("count", 0)) as mine:
    store = Stores(SMALL).open(mine.store_path)
    number = store.position or 0
    while True:
        number += 1
        for key, value in changes(number):
            store.delete(key) if value is None else store.put(key, value)
        store.commit(number)
        if number % 37 == 0:
            flushed = store.flush()
            mine.write_checkpoint({TopicPartition("log", 0): Position(flushed)})
            print(flushed, flush=True)
"""


def test_killed_process_loses_no_flushed_changes(tmp_path: Path) -> None:
    """Four times with one store: it is in the state of some commit, at its checkpoint or beyond."""
    for patience in (1, 10, 3, 30):
        with program(WRITER, tmp_path) as writer:
            assert writer.stdout is not None
            acknowledged = 0
            for _ in range(patience):
                acknowledged = int(writer.stdout.readline())
            writer.kill()
            writer.wait()
        with StateDir(tmp_path, "app") as state, state.claim(("count", 0)) as mine:
            checkpoint = mine.read_checkpoint()
            assert isinstance(checkpoint, dict)
            offset = checkpoint[TopicPartition("log", 0)].offset
            assert offset >= acknowledged > 0
            with Stores(SMALL).open(mine.store_path, at_least=offset) as store:
                assert store.position is not None
                assert dict(store.range()) == contents(store.position)


FULL = """
import json, resource, sys
from pathlib import Path
from kafka_assignors.errors import StateFullError
from kafka_assignors.stateful import Stores
from tests.unit.stateful.state.numbered_changes import SMALL, changes
path = Path(sys.argv[1]) / "store"
store = Stores(SMALL).open(path)
for number in range(1, 101):
    store.apply(changes(number), number)
acknowledged = store.flush()
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
errors = []
try:
    for number in range(101, 1_000_000):
        store.apply(changes(number), number)
        if number % 1000 == 0:
            acknowledged = store.flush()
except StateFullError as error:
    errors.append(str(error))
for use in (store.flush, lambda: store.apply(changes(number), number) or store.flush(), store.close):
    try:
        use()
    except StateFullError as error:
        errors.append(str(error))
store.close()
print(json.dumps([acknowledged, errors]))
"""


@pytest.mark.parametrize("limit", [3_000, 10_000])
def test_full_disk_is_reported_and_loses_no_flushed_changes(limit: int, tmp_path: Path) -> None:
    """The system refuses to write beyond a limit on the size of files."""
    (line,) = run(FULL, tmp_path, limit)
    acknowledged, errors = json.loads(line)
    full = f"no room for state in {tmp_path / 'store'}: File too large; free some space, then start again"
    assert errors == [full] * 4
    assert acknowledged >= 100
    with Stores(SMALL).open(tmp_path / "store", at_least=acknowledged) as store:
        assert store.position is not None
        assert dict(store.range()) == contents(store.position)
        store.apply(changes(store.position + 1), store.position + 1)
        store.flush()


def _written(path: Path) -> None:
    with Stores(SMALL).open(path) as store:
        for number in range(1, 2001):
            store.apply(changes(number), number)


def _refused(path: Path) -> bool:
    """Whether the store is refused; otherwise all of it must be right."""
    try:
        with Stores(SMALL).open(path, at_least=2000) as store:
            content = dict(store.range())
    except StateDamagedError:
        return True
    assert content == contents(2000)
    return False


def test_changed_or_missing_files_are_damage(tmp_path: Path) -> None:
    """Each file of a store, missing, emptied, or full of junk."""
    _written(tmp_path / "store")
    files = sorted(path.name for path in (tmp_path / "store").iterdir())
    assert any(name.endswith(".sst") for name in files)
    noticed = set()
    for name in files:
        for damage in (None, b"", b"junk" * 100):
            path = tmp_path / "damaged"
            shutil.copytree(tmp_path / "store", path)
            (path / name).unlink() if damage is None else (path / name).write_bytes(damage)
            if _refused(path):
                noticed.add(Path(name).suffix or name.split("-")[0])
            shutil.rmtree(path)
    assert {".sst", "CURRENT", "MANIFEST"} <= noticed


def test_changed_block_raises_when_it_is_read(tmp_path: Path) -> None:
    """No range ends early without an error."""
    written = [(f"{number:05}".encode(), str(number).encode() * 100) for number in range(2000)]
    with Stores(SMALL).open(tmp_path / "store") as store:
        store.apply(written, 1)
    largest = max((tmp_path / "store").glob("*.sst"), key=lambda path: path.stat().st_size)
    with largest.open("r+b") as file:
        file.seek(largest.stat().st_size // 2)
        changed = bytes(byte ^ 0xFF for byte in file.read(64))
        file.seek(-64, os.SEEK_CUR)
        file.write(changed)
    store = Stores(SMALL).open(tmp_path / "store")
    with pytest.raises(StateDamagedError, match="checksum mismatch"):
        list(store.range())
    wrong = {key for key, value in written if _read(store, key) != value}
    assert 0 < len(wrong) < len(written)
    assert {_read(store, key) for key in wrong} == {DAMAGED}
    with suppress(StateDamagedError):  # compaction may have come across it
        store.close()


def _read(store: Store, key: bytes) -> bytes | None:
    try:
        return store.get(key)
    except StateDamagedError:
        return DAMAGED


@pytest.mark.parametrize("logged", [True, False])
@pytest.mark.parametrize(
    "text",
    [
        "IO error: No such file or directory: While open a file for random read: 000012.sst",
        "Invalid argument: column family not found",
        "Not implemented: unknown compression",
    ],
)
def test_unknown_error_is_damage_only_with_a_changelog(text: str, logged: bool) -> None:
    """Without one the state would be lost, although an operator may be able to repair it."""
    error = store_error(Exception(text), "here", logged=logged)
    assert isinstance(error, StateDamagedError) is logged
    assert text in str(error)
    assert logged or "left as it is" in str(error)


@pytest.mark.parametrize("logged", [True, False])
@pytest.mark.parametrize(
    "text", ["raw mode only support bytes", "Invalid argument: what", "Busy", "IO of another kind"]
)
def test_unknown_error_of_a_store_in_use_is_no_damage(text: str, logged: bool) -> None:
    """A restored store would raise the same error again, forever."""
    error = store_error(Exception(text), "here", logged=logged, in_use=True)
    assert type(error) is StateError
    assert str(error) == f"cannot use here: {text}"


@pytest.mark.parametrize(
    "text",
    [
        "Corruption: block checksum mismatch: stored = 1, computed = 2",
        "IO error: No such file or directory: While open a file for random read: 000012.sst",
        "NotFound: 000012.sst",
    ],
)
def test_known_text_of_damage_is_damage_in_use_too(text: str) -> None:
    assert isinstance(store_error(Exception(text), "here", in_use=True), StateDamagedError)


@pytest.mark.parametrize("ask", ["get", "range", "commit", "flush"])
def test_store_in_use_is_not_wiped_for_an_unknown_error(
    ask: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Refuses:
        def __getattr__(self, _: str) -> Any:
            def refuse(*_: object) -> None:
                raise KeyError("no such thing")

            return refuse

    with Stores(SMALL).open(tmp_path / "store") as store, monkeypatch.context() as patched:
        patched.setattr(store, "_database", Refuses())
        with pytest.raises(StateError, match="no such thing") as caught:
            {
                "get": lambda: store.get(b"a"),
                "range": lambda: list(store.range()),
                "commit": lambda: store.commit(1),
                "flush": store.flush,
            }[ask]()
    assert not isinstance(caught.value, StateDamagedError)


def test_damaged_store_without_a_changelog_is_reported_as_lost() -> None:
    error = store_error(Exception("Corruption: block checksum mismatch"), "here", logged=False)
    assert isinstance(error, StateDamagedError)
    assert "state is lost" in str(error)


def test_store_without_a_changelog_is_not_wiped_for_a_missing_file(tmp_path: Path) -> None:
    path = tmp_path / "store"
    with Stores(SMALL).open(path, logged=False) as store:
        for number in range(100):
            store.put(b"%d" % number, b"x" * 1000)
        store.commit()
    for file in path.glob("*.sst"):
        file.unlink()
    with pytest.raises(StateError, match="left as it is") as caught:
        Stores(SMALL).open(path, logged=False)
    assert not isinstance(caught.value, StateDamagedError)


@pytest.mark.parametrize("logged", [True, False])
def test_store_of_another_format_is_wiped_only_with_a_changelog(tmp_path: Path, logged: bool) -> None:
    with Stores(SMALL).open(tmp_path / "store", logged=logged) as store:
        store.apply([], 1)
        store._opened().put(b"", b"\xff" * 9)
    with pytest.raises(StateError, match="of another release") as caught:
        Stores(SMALL).open(tmp_path / "store", logged=logged)
    assert isinstance(caught.value, StateDamagedError) is logged


def test_impossible_store_path_is_a_state_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StateError) as caught:
        Stores(SMALL).open(tmp_path / "file" / "store")
    assert "\n" not in str(caught.value)


def test_file_system_without_locks_is_not_reported_as_in_use(tmp_path: Path) -> None:
    """As an NFS without a lock service: to wait for another user would not help."""
    refused = OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))
    cannot_lock = f"cannot use {tmp_path}: No locks available"
    with pytest.raises(StateError, match=cannot_lock) as caught, state_errors(tmp_path):
        raise refused
    of_store = store_error(Exception("IO error: While lock file: x/LOCK: No locks available"), tmp_path)
    assert str(of_store) == str(caught.value)
    assert type(of_store) is type(caught.value) is StateError
