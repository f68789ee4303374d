"""A demo that is interrupted or killed, or loses its broker or a member, leaves nothing behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from kafka import KafkaAdminClient

from tests.integration.demo.small_demo import CONSUMERS, SMALL, SMALL_BACKLOG, command
from tests.support.quick import long
from tests.support.waiting import PATIENCE_S, until


def members_of(process: psutil.Process) -> list[psutil.Process]:
    return [child for child in process.children(recursive=True) if "demo.member" in command_line(child)]


def command_line(process: psutil.Process) -> list[str]:
    """Return the words of a process's command; none if it has ended."""
    try:
        return process.cmdline()
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return []


@pytest.mark.parametrize("how", [signal.SIGINT, long(signal.SIGTERM)])
def test_interrupted_demo_leaves_no_process_group_or_topic_on_an_external_broker(
    kafka_bootstrap: str, tmp_path: Path, how: signal.Signals
) -> None:
    arguments = command(tmp_path, "--bootstrap", kafka_bootstrap, *SMALL)
    with subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True) as popen:
        assert popen.stderr is not None
        assert any(line == "join m4\n" for line in popen.stderr)
        members = members_of(psutil.Process(popen.pid))
        assert len(members) >= 3
        popen.send_signal(how)
        popen.communicate(timeout=PATIENCE_S)
    _, alive = psutil.wait_procs(members, timeout=PATIENCE_S)
    assert alive == []
    assert popen.returncode == 130
    names = (f"demo-replay-range-.*-{popen.pid}$", f"demo-replay-cooperative-sticky-.*-{popen.pid}$")
    with KafkaAdminClient(bootstrap_servers=kafka_bootstrap) as admin:
        left = [*admin.list_topics(), *(str(group) for group in admin.list_groups())]
    assert not [what for what in left for name in names if re.search(name.rstrip("$"), what)]


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A demo that has its own broker, in the middle of its churn; temporary files go below ``tmp_path``."""
    (tmp_path / "tmp").mkdir()
    with subprocess.Popen(
        command(tmp_path / "out", "--backend", "jars", *SMALL),
        env=os.environ | {"TMPDIR": str(tmp_path / "tmp")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as popen:
        assert popen.stderr is not None
        assert any(line == "leave m1\n" for line in popen.stderr)
        yield popen
        popen.kill()


def java(processes: list[psutil.Process]) -> list[psutil.Process]:
    return [process for process in processes if Path("".join(command_line(process)[:1])).name == "java"]


@pytest.mark.long
def test_kill_9_in_mid_churn_leaves_no_member_no_jvm_and_no_directory(
    own_broker: subprocess.Popen[str], tmp_path: Path
) -> None:
    family = psutil.Process(own_broker.pid).children(recursive=True)
    assert java(family)
    assert len(members_of(psutil.Process(own_broker.pid))) >= 3
    assert list((tmp_path / "tmp").iterdir())
    own_broker.kill()
    _, alive = psutil.wait_procs(family, timeout=PATIENCE_S)
    assert alive == []
    until(lambda: not list((tmp_path / "tmp").iterdir()))


def check_ends(demo: subprocess.Popen[str], processes: list[psutil.Process], *, because: str) -> None:
    """Check that a demo ends with one line about the cause, and leaves none of these processes."""
    _, lines = demo.communicate(timeout=PATIENCE_S)
    assert demo.returncode == 1
    assert "Traceback" not in lines
    assert lines.splitlines()[-1].startswith(f"demo: {because}")
    _, alive = psutil.wait_procs(processes, timeout=PATIENCE_S)
    assert alive == []


def test_dying_broker_ends_the_demo_with_its_cause(own_broker: subprocess.Popen[str], tmp_path: Path) -> None:
    family = psutil.Process(own_broker.pid).children(recursive=True)
    [jvm] = java(family)
    jvm.kill()
    check_ends(own_broker, family, because="the broker ended during the demo: ")
    assert not list((tmp_path / "tmp").iterdir())


def test_dying_member_ends_the_scene_and_is_named(kafka_bootstrap: str, tmp_path: Path) -> None:
    arguments = command(tmp_path, "--bootstrap", kafka_bootstrap, *SMALL_BACKLOG, "--scene", "backlog")
    with subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True) as popen:
        driver = psutil.Process(popen.pid)
        until(lambda: len(members_of(driver)) == CONSUMERS)
        members = members_of(driver)
        members[0].kill()
        check_ends(popen, members, because="member m")


def test_missing_broker_is_one_line(tmp_path: Path) -> None:
    ended = subprocess.run(
        command(tmp_path / "out", "--bootstrap", "127.0.0.1:1"),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1].startswith("demo: no Kafka broker answers at 127.0.0.1:1: ")
    assert "Traceback" not in ended.stderr
