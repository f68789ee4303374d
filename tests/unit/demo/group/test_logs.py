from __future__ import annotations

import os
from pathlib import Path

import pytest

from demo.group.logs import Entry, LogTail, LogWriter, decode, encode, read_log
from kafka_assignors.errors import KafkaAssignorsError
from tests.support.full_disk import FULL, needs_full_device

ENTRY = Entry(12, "done", (3,), first=4, last=9, began=10)


@pytest.mark.parametrize(
    "entry", [ENTRY, Entry(1, "started", note="77"), Entry(2, "joined", (), generation=5)]
)
def test_an_entry_survives_the_file(entry: Entry) -> None:
    assert decode(encode(entry)) == entry


def test_defaults_take_no_room() -> None:
    assert encode(Entry(1, "left")) == b'{"t":1,"event":"left"}\n'


@pytest.mark.parametrize(
    "line", [b"", b"{}", b"[]", b'{"t":1,"event":"sung"}', b'{"t":1,"event":"left","x":1}']
)
def test_other_lines_are_refused(line: bytes) -> None:
    with pytest.raises(KafkaAssignorsError, match="not a line of an event log"):
        decode(line)


def test_a_tail_reads_what_is_new_and_waits_for_the_end_of_a_line(tmp_path: Path) -> None:
    path = tmp_path / "m1.jsonl"
    tail = LogTail(path)
    assert list(tail.read()) == []
    log = LogWriter(path)
    log.write(ENTRY)
    assert list(tail.read()) == [ENTRY]
    with path.open("ab") as file:
        file.write(encode(ENTRY)[:-5])
    assert list(tail.read()) == []
    with path.open("ab") as file:
        file.write(encode(ENTRY)[-5:])
    assert list(tail.read()) == [ENTRY]
    log.close()
    assert read_log(path) == [ENTRY, ENTRY]


@needs_full_device
def test_a_full_disk_is_one_line_and_nothing_follows_a_torn_one(tmp_path: Path) -> None:
    path = tmp_path / "m1.jsonl"
    path.symlink_to(FULL)
    log = LogWriter(path)
    for _ in range(2):
        with pytest.raises(KafkaAssignorsError, match=r"cannot write .*m1.jsonl: No space left on device"):
            log.write(ENTRY)
    log.close()


def test_a_log_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(KafkaAssignorsError, match=r"cannot write .*: Not a directory"):
        LogWriter(tmp_path / "file" / "m1.jsonl")


def test_a_short_write_is_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr("demo.group.logs.os.write", lambda fd, data: write(fd, data[:7]))
    log = LogWriter(tmp_path / "m1.jsonl")
    log.write(ENTRY)
    log.close()
    assert read_log(tmp_path / "m1.jsonl") == [ENTRY]
