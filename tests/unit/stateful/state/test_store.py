"""One task's keys and values."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_assignors.errors import OptionError, StateClosedError, StateDamagedError, StateLockedError
from kafka_assignors.stateful import Store, StoreOptions, Stores
from tests.support.searching import times

MIB = 1024 * 1024


@pytest.fixture(scope="module")
def stores() -> Stores:
    return Stores(StoreOptions(block_cache_bytes=MIB, write_buffer_bytes=MIB))


@pytest.fixture
def store(stores: Stores, tmp_path: Path) -> Iterator[Store]:
    with stores.open(tmp_path / "store") as opened:
        yield opened


def test_commit_is_all_or_nothing(store: Store) -> None:
    store.put(b"a", b"1")
    store.put(b"b", b"1")
    store.commit(10)
    store.put(b"a", b"2")
    store.delete(b"b")
    store.put(b"c", b"")
    assert [store.get(key) for key in (b"a", b"b", b"c", b"d")] == [b"2", None, b"", None]
    assert store.uncommitted == {b"a": b"2", b"b": None, b"c": b""}
    assert dict(store.range()) == {b"a": b"2", b"c": b""}
    store.rollback()
    assert store.uncommitted == {}
    assert dict(store.range()) == {b"a": b"1", b"b": b"1"}
    store.commit()
    assert store.position == 10


def test_uncommitted_changes_count_as_memory(store: Store) -> None:
    assert store.uncommitted_bytes == 0
    store.put(b"k" * 10, b"v" * 1000)
    first = store.uncommitted_bytes
    assert 1010 <= first <= 1300
    store.put(b"k" * 10, b"v" * 2000)
    assert store.uncommitted_bytes == first + 1000
    store.delete(b"k" * 10)
    assert store.uncommitted_bytes == first - 1000
    store.commit()
    assert store.uncommitted_bytes == 0


def test_range_is_sorted_by_key(store: Store) -> None:
    store.apply([(bytes([n]), b"old") for n in range(256)], 256)
    for n in (0, 5, 9, 255):
        store.put(bytes([n]), b"new")
    store.delete(b"\x06")
    assert [key for key, _ in store.range()] == [bytes([n]) for n in range(256) if n != 6]
    assert [*store.range(b"\x04", b"\x08")] == [(b"\4", b"old"), (b"\5", b"new"), (b"\7", b"old")]
    assert [*store.range(b"\xfe")] == [(b"\xfe", b"old"), (b"\xff", b"new")]
    assert [*store.range(None, b"\1")] == [(b"\0", b"new")]
    assert [*store.range(b"\5", b"\5")] == [] == [*store.range(b"\5", b"\1")] == [*store.range(None, b"")]


def test_prefix_yields_keys_with_that_prefix(store: Store) -> None:
    store.apply([(key, b"") for key in (b"a", b"a\0", b"a\xff\xff", b"b", b"\xff", b"\xff\xff1")], 1)
    store.put(b"a\1", b"")
    assert [key for key, _ in store.prefix(b"a")] == [b"a", b"a\0", b"a\1", b"a\xff\xff"]
    assert [key for key, _ in store.prefix(b"a\xff")] == [b"a\xff\xff"]
    assert [key for key, _ in store.prefix(b"\xff")] == [b"\xff", b"\xff\xff1"]
    assert len([*store.prefix(b"")]) == 7


def test_store_with_a_changelog_writes_no_log_of_its_own(store: Store, tmp_path: Path) -> None:
    """The changelog is the log: RocksDB's own stays empty."""
    store.put(b"a", bytes(10_000))
    store.commit(1)
    logs = [path.stat().st_size for path in (tmp_path / "store").glob("*.log")]
    assert logs
    assert not any(logs)


def test_iterator_does_not_see_later_changes(store: Store) -> None:
    store.apply([(b"a", b"1"), (b"c", b"1")], 1)
    store.put(b"d", b"1")
    seen = store.range()
    assert next(seen) == (b"a", b"1")
    store.put(b"b", b"2")
    store.put(b"c", b"2")
    store.delete(b"d")
    store.commit(2)
    assert [*seen] == [(b"c", b"1"), (b"d", b"1")]
    assert [*store.range()] == [(b"a", b"1"), (b"b", b"2"), (b"c", b"2")]


def test_store_keeps_its_position(stores: Stores, tmp_path: Path) -> None:
    with stores.open(tmp_path / "store") as store:
        assert store.position is None
        assert store.flush() is None
        store.apply([(b"a", b"1"), (b"a", None), (b"b", b"2")], 1_000)
        assert store.flush() == 1_000
        store.put(b"lost", b"1")
    with stores.open(tmp_path / "store", at_least=1_000) as store:
        assert store.position == 1_000
        assert [*store.range()] == [(b"b", b"2")]
    with stores.open(tmp_path / "store", at_least=999):
        pass  # beyond its checkpoint: it was flushed once more
    with pytest.raises(StateDamagedError, match="at offset 1000, its checkpoint at 1001"):
        stores.open(tmp_path / "store", at_least=1_001)
    with pytest.raises(StateDamagedError, match="at offset 0, its checkpoint at 1"):
        stores.open(tmp_path / "another", at_least=1)


def test_empty_key_is_refused(store: Store) -> None:
    """It holds the position."""
    with pytest.raises(ValueError, match="key is empty"):
        store.put(b"", b"1")
    with pytest.raises(ValueError, match="key is empty"):
        store.delete(b"")
    store.apply([(b"", b"1"), (b"a", b"1")], 5)
    assert store.get(b"") is None
    assert store.position == 5
    assert [*store.range()] == [(b"a", b"1")]


@pytest.mark.parametrize("wrong", ["AA", 5, bytearray(b"a"), memoryview(b"a"), None])
def test_anything_but_bytes_is_refused(wrong: Any, store: Store) -> None:
    """The argument is at fault; an error of the store would wipe it.  None is only a bound of a range."""
    uses: list[Callable[[Any], object]] = [store.get, store.delete, store.prefix]
    uses += [lambda it: store.put(it, b"1"), lambda it: store.put(b"a", it)]
    if wrong is not None:
        uses += [store.range, lambda it: store.range(None, it)]
    for use in uses:
        with pytest.raises(TypeError, match=f"must be bytes, not {type(wrong).__name__}"):
            use(wrong)
    assert store.uncommitted == {}
    assert [*store.range(None, None)] == []


def test_closed_store_raises(stores: Stores, tmp_path: Path) -> None:
    store = stores.open(tmp_path / "store")
    store.put(b"a", b"1")
    store.put(b"b", b"1")
    store.commit(1)
    seen = store.range()
    next(seen)
    store.close()
    store.close()
    for use in (lambda: store.get(b"a"), lambda: store.put(b"a", b"1"), lambda: store.commit(2), store.flush):
        with pytest.raises(StateClosedError, match="is closed"):
            use()
    with pytest.raises(StateClosedError):
        store.range()
    assert [*seen] == []
    with stores.open(tmp_path / "store") as again:  # no iterator holds it
        assert again.get(b"a") == b"1"


def test_open_store_cannot_be_opened_again(stores: Stores, store: Store, tmp_path: Path) -> None:
    with pytest.raises(StateLockedError, match="is in use"):
        stores.open(tmp_path / "store")


def test_approximate_bytes_grow(store: Store) -> None:
    before = store.approximate_bytes
    store.put(b"a", bytes(100_000))
    assert store.approximate_bytes >= before + 100_000
    store.commit()
    assert store.approximate_bytes >= before + 100_000


@pytest.mark.parametrize("option", ["block_cache_bytes", "write_buffer_bytes", "max_open_files"])
def test_too_small_options_are_refused(option: str) -> None:
    for value in (0, 15, "64", True, 1e9):
        with pytest.raises(OptionError, match=option):
            StoreOptions(**{option: value})  # type: ignore[arg-type]


def test_missing_extra_is_named(tmp_path: Path) -> None:
    for missing, use in (("rocksdict", "Stores()"), ("filelock", f"StateDir({str(tmp_path)!r}, 'app')")):
        program = (
            f"import sys; sys.modules[{missing!r}] = None; from kafka_assignors.stateful import *; {use}"
        )
        ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        assert f"{missing} is not installed: pip install 'kafka-assignors[stateful]'" in ended.stderr


keys = st.binary(min_size=1, max_size=2) | st.sampled_from([b"a", b"b", b"\xff"])
steps = st.one_of(
    st.tuples(st.just("put"), keys, st.binary(max_size=3)),
    st.tuples(st.just("delete"), keys),
    st.tuples(st.just("apply"), st.lists(st.tuples(keys, st.none() | st.binary(max_size=3)), max_size=5)),
    st.tuples(st.just("commit")),
    st.tuples(st.just("rollback")),
    st.tuples(st.just("flush")),
    st.tuples(st.just("open again")),
    st.tuples(st.just("range"), st.none() | keys, st.none() | keys),
    st.tuples(st.just("prefix"), keys),
)


@given(taken=st.lists(steps, max_size=25))
@settings(max_examples=times(0.6))
def test_store_behaves_like_a_dictionary(
    taken: list[tuple[Any, ...]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Random steps, compared with one in memory."""
    stores = Stores(StoreOptions(block_cache_bytes=MIB, write_buffer_bytes=MIB))
    path = tmp_path_factory.mktemp("model") / "store"
    store = stores.open(path)
    committed: dict[bytes, bytes] = {}
    now: dict[bytes, bytes] = {}
    seen: set[bytes] = set()
    for position, (step, *given_) in enumerate(taken, 1):
        match step, given_:
            case "put", (key, value):
                store.put(key, value)
                now[key] = value
            case "delete", (key,):
                store.delete(key)
                now.pop(key, None)
            case "apply", (changes,):
                store.rollback()
                store.apply(changes, position)
                for key, value in changes:
                    committed.pop(key, None) if value is None else committed.update({key: value})
                now = dict(committed)
            case "commit", _:
                store.commit(position)
                committed = dict(now)
                assert store.position == position
            case "rollback", _:
                store.rollback()
                now = dict(committed)
            case "flush", _:
                assert store.flush() == store.position
            case "open again", _:
                was = store.position
                store.close()
                store = stores.open(path)
                now = dict(committed)
                assert store.position == was
            case "range", (start, end):
                expected = [
                    (k, v) for k, v in sorted(now.items()) if k >= (start or b"") and (end is None or k < end)
                ]
                assert [*store.range(start, end)] == expected
            case "prefix", (prefix,):
                assert [*store.prefix(prefix)] == [
                    (k, v) for k, v in sorted(now.items()) if k.startswith(prefix)
                ]
        seen |= now.keys()
        assert {key: store.get(key) for key in seen} == {key: now.get(key) for key in seen}
    assert dict(store.range()) == now
    store.close()
