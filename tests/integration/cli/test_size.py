"""``kafka-assignors size`` on a live group, which follows its advice; once and served."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from kafka_assignors import CooperativeLagAwareAssignor, CooperativeStickyAssignor
from kafka_assignors.broker.ports import HOST
from kafka_assignors.cli.common import client_settings
from kafka_assignors.cli.lag.reader import LagReader
from kafka_assignors.cli.size.sizes import GroupSizes, SizeRequest
from kafka_assignors.plan import TopicPartition
from kafka_assignors.simulation.sizing import Target
from kafka_assignors.wire import load_feed
from kafka_assignors.wire.load_feed import Forecast
from tests.integration.conftest import FreshNames
from tests.integration.feeding import Feed
from tests.integration.lagging import write
from tests.integration.members import Group
from tests.support.command_line import COMMAND, ENV, run_command
from tests.support.waiting import until

HOUR_MS = 3_600_000
ASSUMED = "the group's options are unknown, assuming max_partition_skew=1, min_improvement=0.1 (--option)"


def words(group: Group) -> list[str]:
    """A member reads 100 records/s, so 2,800 records are 28 s of its time."""
    target = ["--max-time-lag", "30s", "--headroom", "0", "--rate", "100", "--every", "2s"]
    return ["size", group.group_id, "--bootstrap", group.bootstrap, *target]


def size(group: Group, *more: str) -> tuple[int, Any]:
    """Return the exit code and the JSON."""
    done = run_command(*words(group), *more, "--output", "json")
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
            [*COMMAND, *words(group), "--serve", f"{HOST}:0"], env=ENV, stdout=file, stderr=file
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
            shown = page(url)
            assert shown["advised"] == 4, shown
        code, report = size(group)
        is_late = report["oldest_s"] > 30
        assert (code, report["members"], report["advised"]) == (int(is_late), 4, 4)
        assert report["scale"] is None


def test_forecasts_of_a_feed_decide_on_the_second_half_of_the_horizon(fresh: FreshNames) -> None:
    with Group(fresh, 4) as group, Feed(group.bootstrap, group.group_id).create() as feed:
        group.join_all(2, CooperativeLagAwareAssignor, auto_offset_reset="earliest")
        group.settled()
        tps = sorted(group.partitions)
        for tp in tps:
            forecast = Forecast(
                round(1000 * time.time()), HOUR_MS, 72.0 * HOUR_MS / 1000, None, 0.0, None, None
            )
            feed.write(load_feed.encode_key(group.group_id, tp), load_feed.encode(forecast))
        code, report = size(group, "--load-topic", feed.topic)
        assert (code, report["members"], report["advised"], report["notes"]) == (1, 2, 4, [ASSUMED])
        assert [(step["arriving"], step["members"]) for step in report["steps"]] == [(0, 1), (288, 4)]
        assert report["steps"][1]["limit"]["member_partitions"] == 2
        used = report["forecasts"]
        assert (used["source"], used["partitions"]) == (feed.topic, 4)
        assert used["period_s"] + used["age_s"] == pytest.approx(HOUR_MS / 1000, abs=1)
        feed.forget(tps[0])
        code, report = size(group, "--load-topic", feed.topic)
        assert [step["arriving"] for step in report["steps"]] == [0, 216]
        assert report["advised"] == 3  # the partition without arrivals shares a member
        problem = f"load feed {feed.topic}: no fresh forecast for 1 of 4 partitions"
        assert report["notes"] == [problem, ASSUMED]


def test_group_that_was_restarted_at_once_has_a_size_from_its_second_look_on(fresh: FreshNames) -> None:
    with (
        Group(fresh, 4) as group,
        closing(LagReader(client_settings(group.bootstrap, None), "earliest")) as reader,
    ):
        group.join_all(2, CooperativeStickyAssignor)
        group.settled()
        request = SizeRequest(group.group_id, Target(30, headroom=0), 3600, rate=100.0)
        sizes = GroupSizes(lambda: reader.read([group.group_id]).reports[0], request)
        sizes.look()
        assert sizes.read().sizing.members == 2
        for member in group.present():
            member.close()
        write(group.bootstrap, dict.fromkeys(sorted(group.partitions), 2800))
        group.join_all(2, CooperativeStickyAssignor)
        group.settled()
        assert any("has just started: all its members are new" in note for note in sizes.read().notes)
        after = sizes.read()
        assert after.sizing.members == 2
        assert not any("has just started" in note for note in after.notes)
