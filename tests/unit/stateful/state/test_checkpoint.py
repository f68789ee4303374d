"""Checkpoints: their bytes, or the reason why they are damaged."""

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


def test_bytes_are_readable_text(tmp_path: Path) -> None:
    """Two lines: JSON and a checksum."""
    path = tmp_path / "checkpoint"
    checkpoint.write(path, POSITIONS)
    assert path.read_bytes() == TEXT + b"\n97fc30ec\n"
    assert checkpoint.read(path) == POSITIONS
    assert [entry.name for entry in tmp_path.iterdir()] == ["checkpoint"]


def test_missing_checkpoint_is_none(tmp_path: Path) -> None:
    assert checkpoint.read(tmp_path / "checkpoint") is None


def test_half_written_checkpoint_keeps_the_one_before(tmp_path: Path) -> None:
    """The process died during a write; the next write replaces the rest."""
    path = tmp_path / "checkpoint"
    checkpoint.write(path, POSITIONS)
    path.with_name("checkpoint.new").write_bytes(TEXT[:20])
    assert checkpoint.read(path) == POSITIONS
    checkpoint.write(path, {})
    assert checkpoint.read(path) == {}
    assert [entry.name for entry in tmp_path.iterdir()] == ["checkpoint"]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "truncated"),
        (TEXT, "truncated"),
        (TEXT + b"\n", "truncated"),
        (_file(TEXT)[:-1], "truncated"),
        (_file(TEXT) + b"x", "truncated"),
        (_file(TEXT).replace(b"12345", b"12346"), "changed after it was written"),
        (_file(TEXT.replace(b":1,", b":2,")), "version 2, expected 1"),
        (_file(b"[]"), "version None"),
        (_file(b'{"version":1}'), "not iterable"),
        (_file(b"\xff"), "decode"),
        (_file(b"[" * 100_000), "nested too deeply"),
        (_file(TEXT.replace(b"12345", b"-1")), "an invalid position"),
        (_file(TEXT.replace(b"12345", b"1.5")), "an invalid position"),
        (_file(TEXT.replace(b"12345", b"true")), "an invalid position"),
        (_file(TEXT.replace(b'"b"', b"7")), "an invalid position"),
        (_file(TEXT.replace(b",null", b"")), "an invalid position"),
        (bytes(checkpoint.MAX_BYTES + 1), "more than 1048576 bytes"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_damaged_checkpoint_has_a_reason(data: bytes, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    path.write_bytes(data)
    damaged = checkpoint.read(path)
    assert isinstance(damaged, Damaged)
    assert reason in damaged.reason
    assert str(path) in damaged.reason
    assert "\n" not in damaged.reason


@given(at=st.integers(0, len(_file(TEXT)) - 1), bit=st.integers(0, 7))
def test_any_flipped_bit_is_damage(at: int, bit: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "changed-checkpoint"
    data = bytearray(_file(TEXT))
    data[at] ^= 1 << bit
    path.write_bytes(data)
    assert isinstance(checkpoint.read(path), Damaged)


def test_error_of_the_system_is_raised(tmp_path: Path) -> None:
    """Damage would delete the state."""
    (tmp_path / "checkpoint").mkdir()
    with pytest.raises(StateError, match="Is a directory"):
        checkpoint.read(tmp_path / "checkpoint")
    with pytest.raises(StateError, match="Is a directory"):
        checkpoint.write(tmp_path / "checkpoint", POSITIONS)
    with pytest.raises(StateError, match="No such file or directory"):
        checkpoint.write(tmp_path / "gone" / "checkpoint", POSITIONS)
