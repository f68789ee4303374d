"""The event logs: lines that survive a kill, and a full disk."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from demo.group.logs import Entry, LogTail, LogWriter, decode, encode, read_log
from kafka_assignors.errors import KafkaAssignorsError
from tests.support.full_disk import FULL, needs_full_device

ENTRY = Entry(12, "done", (3,), first=4, last=9, began=10)


@pytest.mark.parametrize("line", [b"", b"{}", b'{"t":1,"event":"sung"}', b'{"t":1,"event":"left","x":1}'])
def test_other_lines_are_refused(line: bytes) -> None:
    with pytest.raises(KafkaAssignorsError, match="not a line of an event log"):
        decode(line)


def test_tail_reads_new_entries_and_waits_for_the_end_of_a_line(tmp_path: Path) -> None:
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


def test_short_write_is_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr("demo.group.logs.os.write", lambda fd, data: write(fd, data[:7]))
    log = LogWriter(tmp_path / "m1.jsonl")
    log.write(ENTRY)
    log.close()
    assert read_log(tmp_path / "m1.jsonl") == [ENTRY]


@needs_full_device
def test_full_disk_is_one_line_and_nothing_follows_a_torn_line(tmp_path: Path) -> None:
    path = tmp_path / "m1.jsonl"
    path.symlink_to(FULL)
    log = LogWriter(path)
    for _ in range(2):
        with pytest.raises(KafkaAssignorsError, match=r"cannot write .*m1.jsonl: No space left on device"):
            log.write(ENTRY)
    log.close()
