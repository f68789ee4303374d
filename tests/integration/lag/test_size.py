"""``kafka-assignors size`` on a live group, which follows its advice; once and served."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any

from kafka_assignors import CooperativeStickyAssignor
from kafka_assignors.broker.ports import HOST
from kafka_assignors.plan import TopicPartition
from tests.integration.conftest import FreshNames
from tests.integration.lagging import write
from tests.integration.members import Group
from tests.support.waiting import until

COMMAND = [sys.executable, "-m", "kafka_assignors", "size"]
ENV = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}


def words(group: Group) -> list[str]:
    """A member reads 100 records/s, so 2,800 records are 28 s of its time."""
    target = ["--max-time-lag", "30s", "--headroom", "0", "--rate", "100", "--every", "2s"]
    return [*COMMAND, group.group_id, "--bootstrap", group.bootstrap, *target]


def size(group: Group) -> tuple[int, Any]:
    """Return the exit code and the JSON."""
    done = subprocess.run(
        [*words(group), "--output", "json"], env=ENV, capture_output=True, text=True, timeout=90, check=False
    )
    assert done.stderr == ""
    return done.returncode, json.loads(done.stdout)


@contextmanager
def written(group: Group, tps: list[TopicPartition]) -> Iterator[None]:
    """Write a record to each partition five times a second."""
    over = threading.Event()

    def work() -> None:
        while not over.wait(0.2):
            write(group.bootstrap, dict.fromkeys(tps, 1))

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@contextmanager
def served(group: Group, folder: Path) -> Iterator[str]:
    """``size --serve``; yields the address of its JSON page."""
    log = folder / "size.log"
    with (
        log.open("wb") as file,
        subprocess.Popen(
            [*words(group), "--serve", f"{HOST}:0"], env=ENV, stdout=file, stderr=file
        ) as running,
    ):
        try:
            until(lambda: "http://" in log.read_text() or running.poll() is not None, "the page")
            yield next(word for word in log.read_text().split() if word.startswith("http://"))
            running.send_signal(signal.SIGTERM)
            assert running.wait(30) == 0, log.read_text()
        finally:
            running.kill()


def page(url: str) -> Any:
    """Return the JSON page; an empty object while there is no size yet (503)."""
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:  # noqa: S310  # http
            return json.load(answer)
    except urllib.error.HTTPError as error:
        return {} if error.code == HTTPStatus.SERVICE_UNAVAILABLE else {"status": error.code}


def test_group_that_follows_the_advice_has_the_right_size(fresh: FreshNames, tmp_path: Path) -> None:
    with Group(fresh, 4) as group:
        group.join_all(2, CooperativeStickyAssignor)
        owned = group.settled()
        tps = sorted(tp for tps in owned.values() for tp in tps)
        write(group.bootstrap, dict.fromkeys(tps, 2800))
        with served(group, tmp_path) as url:
            with written(group, tps):
                code, report = size(group)
            (step,) = report["steps"]
            assert (code, report["members"], report["advised"], report["notes"]) == (1, 2, 4, [])
            assert (report["strategy"], step["members"]) == ("cooperative-sticky", 4)
            assert step["limit"]["members"] == 3
            assert step["limit"]["member_partitions"] == 2
            assert 0 < step["arriving"] < 100
            assert report["scale"]["moved"] == 2
            until(lambda: page(url).get("advised") == 4, "the advice on the page")
            group.join(CooperativeStickyAssignor)
            group.join(CooperativeStickyAssignor)
            after = group.settled()
            moved = sum(after[name] != partitions for name, partitions in owned.items())
            assert moved == report["scale"]["moved"]  # each former member gave away one
            until(lambda: page(url).get("members") == 4, "the new members on the page")
            assert page(url).get("advised") == 4
        code, report = size(group)
        assert (code, report["members"], report["advised"]) == (0, 4, 4)
        assert report["scale"] is None
