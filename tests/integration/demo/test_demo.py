"""The demo for real, small: processes, churn, all strategies, its files, and its end, orderly or not."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from kafka import KafkaAdminClient

from demo.results import StrategyResult
from tests.integration.demo.small_demo import (
    MEMBERS,
    PARTITIONS,
    SMALL,
    STRATEGIES,
    Demo,
    command,
)
from tests.support.quick import long
from tests.support.waiting import until


def test_no_record_is_lost_and_every_partition_is_owned(demo: Demo) -> None:
    results = demo.results
    assert [one["strategy"] for one in results["strategies"]] == list(STRATEGIES)
    for one in results["strategies"]:
        assert one["produced"] == one["processed"] > 1_000
        assert (one["lost"], one["double_owned"], one["owned_at_end"]) == (0, 0, PARTITIONS)


def test_every_strategy_ran_with_the_same_events_and_churn(demo: Demo) -> None:
    runs = demo.results["strategies"]
    assert len({one["produced"] for one in runs}) == 1
    for one in runs:
        assert [(step["kind"], step["member"]) for step in one["steps"]] == [
            ("join", "m4"),
            ("leave", "m1"),
            ("kill", "m2"),
        ]
        # Never early, whatever the machine; late by as much as it stalls, which the report shows.
        times = [step["at"] for step in one["steps"]]
        assert times == sorted(times)
        assert all(at >= due for at, due in zip(times, [1, 5, 7.5], strict=True))
        assert {hold["member"] for hold in one["holds"]} == set(MEMBERS)


def test_each_step_settled_and_was_measured(demo: Demo) -> None:
    for one in demo.results["strategies"]:
        assert one["drain"] >= 0
        assert one["lag"]["total"][-1] == 0
        assert one["fault"] == ""
        assert 0 <= one["lateness"] < 14
        assert 0 < (one["pause_p50"] or 0) <= (one["pause_max"] or 0) <= one["pause_total"]
        assert 0 < one["paused"] <= one["pausable"] == 3 * PARTITIONS
        kill = one["steps"][-1]
        assert kill["settled"] is not None
        assert kill["settled"] > 4  # the session timeout is 6 s, counted from the last heartbeat
        if each_step_rebalanced(one):
            assert one["moved"] >= one["least_moves"]


def each_step_rebalanced(one: StrategyResult) -> bool:
    """Whether no step settled too late, or started its member too late, and left its moves to the next."""
    return all(step["settled"] is not None and step["rebalances"] for step in one["steps"])


def test_cooperative_sticky_moves_the_minimum(demo: Demo) -> None:
    ranges, sticky, _ = demo.results["strategies"]
    assert sticky["moved"] <= ranges["moved"]
    if each_step_rebalanced(sticky):
        assert sticky["moved"] == sticky["least_moves"]


def test_partitions_of_a_killed_member_pause(demo: Demo) -> None:
    for one in demo.results["strategies"]:
        kill = one["steps"][-1]
        orphans = {h["partition"] for h in one["holds"] if (h["member"], h["end"]) == ("m2", kill["at"])}
        ended: dict[int, float] = {}  # partition -> end of its first wait that ends after the kill
        for wait in one["waits"]:
            if wait["end"] > kill["at"]:
                ended[wait["partition"]] = min(wait["end"], ended.get(wait["partition"], wait["end"]))
        assert orphans
        assert all(ended[partition] > kill["at"] + 3 for partition in orphans)


def test_stdout_has_the_result_and_stderr_the_progress(demo: Demo) -> None:
    printed = json.loads(demo.ended.stdout)
    assert printed["report"] == str(demo.out / "report.html")
    assert printed == demo.results | {"report": printed["report"]}
    lines = demo.ended.stderr.splitlines()
    steps = ["join m4", "leave m1", "kill m2"]
    assert [line for line in lines if line in steps] == len(STRATEGIES) * steps


def test_every_process_leaves_a_log(demo: Demo) -> None:
    for strategy in STRATEGIES:
        names = {path.name for path in (demo.out / "replay" / strategy).glob("*.jsonl")}
        assert names == {"driver.jsonl", *(f"{member}.jsonl" for member in MEMBERS)}


def members_of(process: psutil.Process) -> list[psutil.Process]:
    return [child for child in process.children(recursive=True) if "demo.member" in command_line(child)]


def command_line(process: psutil.Process) -> list[str]:
    """Return the words of a process's command; none if it has ended."""
    try:
        return process.cmdline()
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return []


@pytest.mark.parametrize("how", [signal.SIGKILL, long(signal.SIGTERM), long(signal.SIGINT)])
def test_no_process_outlives_the_demo(kafka_bootstrap: str, tmp_path: Path, how: signal.Signals) -> None:
    arguments = command(tmp_path, "--bootstrap", kafka_bootstrap, *SMALL)
    with subprocess.Popen(arguments, stderr=subprocess.PIPE) as popen:
        driver = psutil.Process(popen.pid)
        until(lambda: len(members_of(driver)) == 3, patience_s=60)
        found = members_of(driver)
        popen.send_signal(how)
        popen.communicate(timeout=60)
    _, alive = psutil.wait_procs(found, timeout=60)
    assert alive == []
    assert popen.returncode == (-how if how == signal.SIGKILL else 130)


def test_ctrl_c_leaves_no_group_or_topic_on_an_external_broker(kafka_bootstrap: str, tmp_path: Path) -> None:
    arguments = command(tmp_path, "--bootstrap", kafka_bootstrap, *SMALL)
    with subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True) as popen:
        assert popen.stderr is not None
        assert any(line == "join m4\n" for line in popen.stderr)
        popen.send_signal(signal.SIGINT)
        popen.communicate(timeout=60)
    names = (f"demo-replay-range-.*-{popen.pid}$", f"demo-replay-cooperative-sticky-.*-{popen.pid}$")
    admin = KafkaAdminClient(bootstrap_servers=kafka_bootstrap)
    try:
        left = [*admin.list_topics(), *(str(group) for group in admin.list_groups())]
    finally:
        admin.close()
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
    return [process for process in processes if process.name() == "java"]


def test_kill_9_in_mid_churn_leaves_no_member_no_jvm_and_no_directory(
    own_broker: subprocess.Popen[str], tmp_path: Path
) -> None:
    family = psutil.Process(own_broker.pid).children(recursive=True)
    assert java(family)
    assert len(members_of(psutil.Process(own_broker.pid))) >= 3
    assert list((tmp_path / "tmp").iterdir())
    own_broker.kill()
    _, alive = psutil.wait_procs(family, timeout=60)
    assert alive == []
    until(lambda: not list((tmp_path / "tmp").iterdir()), patience_s=60)


def test_dying_broker_ends_the_demo_with_its_cause(own_broker: subprocess.Popen[str], tmp_path: Path) -> None:
    family = psutil.Process(own_broker.pid).children(recursive=True)
    [jvm] = java(family)
    jvm.kill()
    _, rest = own_broker.communicate(timeout=60)
    assert own_broker.returncode == 1
    assert "Traceback" not in rest
    assert rest.splitlines()[-1].startswith("demo: the broker ended during the demo: ")
    _, alive = psutil.wait_procs(family, timeout=60)
    assert alive == []
    assert not list((tmp_path / "tmp").iterdir())


def test_missing_broker_is_one_line(tmp_path: Path) -> None:
    ended = subprocess.run(
        command(tmp_path / "out", "--bootstrap", "127.0.0.1:1"),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1].startswith("demo: no Kafka broker answers at 127.0.0.1:1: ")
    assert "Traceback" not in ended.stderr
