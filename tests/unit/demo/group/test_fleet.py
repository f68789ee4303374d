"""The member processes and their pipes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from demo.group.fleet import Fleet
from demo.member.start import ParentPipe
from kafka_assignors.errors import KafkaAssignorsError
from tests.support.full_disk import FULL, needs_full_device
from tests.unit.demo.story import worker_config


def test_lines_of_the_parent_come_one_by_one_and_then_its_end() -> None:
    reader, writer = os.pipe()
    gone = threading.Event()
    parent = ParentPipe(reader, gone.set)
    os.write(writer, b"conf")
    os.write(writer, b"ig\ngo\n")
    assert parent.read_line() == b"config"
    watching = threading.Thread(target=parent.follow)
    watching.start()
    assert parent.go.wait(5)
    assert not parent.leave.is_set()
    os.write(writer, b"leave\n")
    assert parent.leave.wait(5)
    assert not gone.is_set()
    os.close(writer)
    assert gone.wait(5)
    watching.join()
    os.close(reader)


def test_member_started_by_hand_names_its_purpose() -> None:
    command = [sys.executable, "-m", "demo.member"]
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stderr.strip().endswith("started by the demo, with its configuration on stdin")


@pytest.mark.parametrize(
    "why",
    ["No such file or directory", pytest.param("No space left on device", marks=needs_full_device)],
)
def test_member_that_ends_by_itself_is_reported_with_its_last_words(tmp_path: Path, why: str) -> None:
    folder = tmp_path / "not" / "there"
    if why.startswith("No space"):
        folder = tmp_path
        (tmp_path / "m1.err").symlink_to(FULL)
        (tmp_path / "m1.jsonl").symlink_to(FULL)
    message = f"member m1 ended with exit code 1: cannot write .*m1.jsonl: {why}"
    with Fleet(tmp_path) as members:
        members.start("m1", worker_config(folder))
        with pytest.raises(KafkaAssignorsError, match=message):
            check_until_it_raises(members)


def check_until_it_raises(members: Fleet) -> None:
    for _ in range(200):
        members.check()
        time.sleep(0.1)


def test_killed_member_is_no_surprise_and_the_end_of_the_fleet_ends_all_members(tmp_path: Path) -> None:
    with Fleet(tmp_path) as members:
        members.start("m1", worker_config(tmp_path))
        members.kill("m1")
        members.check()
        assert members.wait(1)
        pid = members.start("m2", worker_config(tmp_path))
        members.check()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_dead_member_hides_no_error_and_does_not_stop_the_others_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("demo.group.fleet.LEAVE_TIMEOUT", 0.1)  # without a broker no member leaves
    with pytest.raises(KafkaAssignorsError, match="member m1 is gone"), Fleet(tmp_path) as members:  # noqa: PT012
        dead = members.start("m1", worker_config(tmp_path))
        pid = members.start("m2", worker_config(tmp_path))
        os.kill(dead, signal.SIGKILL)
        os.waitid(os.P_PID, dead, os.WEXITED | os.WNOWAIT)
        members.leave("m1")
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    message = r"cannot write .*m1.err: No such"
    with Fleet(tmp_path / "no") as members, pytest.raises(KafkaAssignorsError, match=message):
        members.start("m1", worker_config(tmp_path))
