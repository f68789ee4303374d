"""Checkpoints: what was written, or a reason why not."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_assignors.errors import StateError
from kafka_assignors.plan import TopicPartition
from kafka_assignors.stateful.state import checkpoint
from kafka_assignors.stateful.state.checkpoint import Damaged, Position

POSITIONS = {
    TopicPartition("app-count-changelog", 3): Position(12_345, "Zm9v"),
    TopicPartition("b", 0): Position(0),
}
TEXT = b'{"version":1,"positions":[["app-count-changelog",3,12345,"Zm9v"],["b",0,0,null]]}'


def _file(line: bytes) -> bytes:
    return b"%s\n%08x\n" % (line, zlib.crc32(line))


def test_the_bytes(tmp_path: Path) -> None:
    """A person can read them."""
    path = tmp_path / "checkpoint"
    checkpoint.write(path, POSITIONS)
    assert path.read_bytes() == TEXT + b"\n97fc30ec\n"
    assert checkpoint.read(path) == POSITIONS
    assert [entry.name for entry in tmp_path.iterdir()] == ["checkpoint"]


def test_the_next_one_replaces_it(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    checkpoint.write(path, POSITIONS)
    checkpoint.write(path, {})
    assert checkpoint.read(path) == {}


def test_none_is_no_error(tmp_path: Path) -> None:
    assert checkpoint.read(tmp_path / "checkpoint") is None


def test_half_of_the_next_one_is_no_matter(tmp_path: Path) -> None:
    """The process died while it wrote: the one before counts, and the next goes over what is left."""
    path = tmp_path / "checkpoint"
    checkpoint.write(path, POSITIONS)
    path.with_name("checkpoint.new").write_bytes(TEXT[:20])
    assert checkpoint.read(path) == POSITIONS
    checkpoint.write(path, {})
    assert checkpoint.read(path) == {}
    assert [entry.name for entry in tmp_path.iterdir()] == ["checkpoint"]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "cut off"),
        (TEXT, "cut off"),
        (TEXT + b"\n", "cut off"),
        (_file(TEXT)[:-1], "cut off"),
        (_file(TEXT) + b"x", "cut off"),
        (_file(TEXT).replace(b"12345", b"12346"), "changed after it was written"),
        (_file(TEXT.replace(b":1,", b":2,")), "version 2, know only 1"),
        (_file(b"[]"), "version None"),
        (_file(b'{"version":1}'), "not iterable"),
        (_file(b"\xff"), "decode"),
        (_file(b"[" * 100_000), "recursion"),
        (_file(TEXT.replace(b"12345", b"-1")), "a position that is none"),
        (_file(TEXT.replace(b"12345", b"1.5")), "a position that is none"),
        (_file(TEXT.replace(b"12345", b"true")), "a position that is none"),
        (_file(TEXT.replace(b'"b"', b"7")), "a position that is none"),
        (_file(TEXT.replace(b",null", b"")), "a position that is none"),
        (bytes(checkpoint.MAX_BYTES + 1), "more than 1048576 bytes"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_is_none_says_why(data: bytes, says: str, tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    path.write_bytes(data)
    found = checkpoint.read(path)
    assert isinstance(found, Damaged)
    assert says in found.reason
    assert str(path) in found.reason
    assert "\n" not in found.reason


@given(at=st.integers(0, len(_file(TEXT)) - 1), bit=st.integers(0, 7))
def test_no_bit_changes_unseen(at: int, bit: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "changed-checkpoint"
    data = bytearray(_file(TEXT))
    data[at] ^= 1 << bit
    path.write_bytes(data)
    assert isinstance(checkpoint.read(path), Damaged)


def test_what_the_system_forbids_is_an_error(tmp_path: Path) -> None:
    """Not damage, which would have the state deleted."""
    (tmp_path / "checkpoint").mkdir()
    with pytest.raises(StateError, match="Is a directory"):
        checkpoint.read(tmp_path / "checkpoint")
    with pytest.raises(StateError, match="Is a directory"):
        checkpoint.write(tmp_path / "checkpoint", POSITIONS)
    with pytest.raises(StateError, match="No such file or directory"):
        checkpoint.write(tmp_path / "gone" / "checkpoint", POSITIONS)
