"""``size --serve``: its pages, its log, and what the docs say of it."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from kafka_assignors.broker.ports import HOST
from kafka_assignors.cli.common import parse_address
from kafka_assignors.cli.exporter.server import reading_repeatedly, serving
from kafka_assignors.cli.lag.report import Report
from kafka_assignors.cli.size import command as cli_size
from kafka_assignors.cli.size import serve as cli_serve
from kafka_assignors.cli.size.serve import SizePage, timed_and_logged
from kafka_assignors.cli.size.sizes import GroupSizes
from kafka_assignors.errors import GroupError
from tests.support.clock import Clock
from tests.support.examples import ROOT
from tests.support.waiting import until
from tests.unit.cli.size.sized_group import (
    CALM,
    GIVEN_RATE,
    REQUEST,
    Looks,
    Minutes,
    look,
    rebalancing,
    shown_report,
    sized,
    started,
)

GUIDE = (ROOT / "docs" / "guides" / "size.md").read_text(encoding="utf-8")


def get(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:  # noqa: S310  # http
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def values(families: Iterable[Metric]) -> dict[str, float]:
    return {
        sample.name.removeprefix("kafka_assignors_size_"): sample.value
        for family in families
        for sample in family.samples
        if sample.labels == {"group": "billing"}
    }


def scraped(url: str) -> dict[str, float]:
    return values(text_string_to_metric_families(get(url)[1]))


def test_pages_over_http() -> None:
    clock = Clock(0)
    page = SizePage("billing", 60, clock)
    with serving(page, parse_address(f"{HOST}:0"), {"/size": page.as_json}) as address:
        size_url, metrics_url = f"http://{address}/size", f"http://{address}/metrics"
        assert get(size_url) == (HTTPStatus.SERVICE_UNAVAILABLE, '{"problem": "there is no recent size"}')
        assert scraped(metrics_url) == {"up": 0}
        page.publish(shown_report())
        status, body = get(size_url)
        assert (status, json.loads(body)) == (200, shown_report().as_json())
        figures = {"up": 1, "members": 2, "advised": 4, "holds": 0, "horizon": 4, "hot_partitions": 1}
        assert scraped(metrics_url) == figures
        assert scraped(f"{metrics_url}?name[]=kafka_assignors_size_advised") == {"advised": 4}
        page.fail()
        clock.now = 180
        assert get(size_url)[0] == 200
        assert scraped(metrics_url)["up"] == 0
        clock.now = 181
        assert get(size_url)[0] == 503
        assert scraped(metrics_url) == {"up": 0}
        page.publish(replace(shown_report(), took_s=100))  # a look may take longer than the interval
        page.publish(replace(shown_report(), took_s=2, is_kept=True))
        clock.now += 300
        assert get(size_url)[0] == 200
        clock.now += 1
        assert get(size_url)[0] == 503


def test_serving_logs_the_advice_and_publishes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    report = sized(GIVEN_RATE, CALM, CALM)
    is_logged = threading.Event()

    def log(line: str) -> None:
        lines.append(line)
        if line.startswith("billing: "):
            is_logged.set()

    monkeypatch.setattr(cli_serve, "_log", log)
    monkeypatch.setattr(cli_serve, "wait_for_interrupt", lambda: is_logged.wait(60))
    cli_serve.serve(parse_address(f"{HOST}:0"), lambda: report, "billing", 60)
    assert lines[1] == "billing: 4 members, the right size for a time lag of 30s"


def test_changes_of_the_advised_size_are_logged() -> None:
    sizes = started(GIVEN_RATE, CALM, CALM, CALM, look([7] * 8, [0] * 8, members=4))
    lines: list[str] = []
    read = timed_and_logged(sizes.read, lines.append)
    assert all(read().took_s > 0 for _ in range(3))
    assert lines == [
        "billing: 4 members, the right size for a time lag of 30s",
        "billing: grow from 4 to 8 members for a time lag of 30s",
    ]


def test_log_has_each_reason_for_a_missing_size_once() -> None:
    looks, lines = 0, list[str]()

    def read() -> Report:
        nonlocal looks
        looks += 1
        return CALM

    sizes = GroupSizes(read, REQUEST, clock=Minutes())
    with reading_repeatedly(sizes.read, SizePage("billing", 60), 0.001, lines.append):
        until(lambda: looks > 5, "looks")
    assert lines == [
        "one look at group 'billing' so far: a size needs two",
        "the rate of a member of 'billing' is unknown: measuring it takes a member that keeps its "
        "partitions, commits, and at each look has more lag than it reads in 10 s: give --rate",
    ]


def test_group_that_keeps_rebalancing_has_no_size_after_three_intervals() -> None:
    clock = Clock(0)
    looks = [CALM, CALM, *[rebalancing(CALM)] * 4, CALM]
    sizes = started(GIVEN_RATE, *looks, clock=clock)
    page = SizePage("billing", 60, clock)
    seen = []
    for _ in looks[1:]:
        clock.now += 60
        page.publish(sizes.read())
        figures = values(page.collect())
        seen.append((page.as_json()[0], figures["up"], figures.get("advised"), figures.get("holds")))
    kept = (200, 0, 4, 1)
    assert seen == [(200, 1, 4, 1), kept, kept, kept, (503, 0, None, None), (200, 1, 4, 1)]


def test_advice_and_rate_last_from_look_to_look(monkeypatch: pytest.MonkeyPatch) -> None:
    rates, none, lags = [40] * 4, [0] * 4, [900] * 4
    alone = look(rates, none, members=1)
    moving = rebalancing(alone, "CompletingRebalance")
    looks = Looks(look(rates, lags), look(rates, lags), look(rates, none), moving, alone)
    monkeypatch.setattr(cli_size, "LagReader", looks)
    monkeypatch.setattr(cli_size, "GroupSizes", partial(GroupSizes, clock=Minutes()))
    advised: list[int] = []

    def serve(_listen: str, read: Any, group_id: str, interval_s: float) -> None:
        assert (group_id, interval_s) == (REQUEST.group_id, 60)
        with pytest.raises(GroupError, match="a size needs two"):
            read()
        for kind in ("measured", "without lag", "rebalancing", "a member has crashed"):
            report = read()
            assert any("is rebalancing" in note for note in report.notes) == (kind == "rebalancing")
            assert report.sizing.rate == 80  # a member commits 40/s of two partitions
            advised.append(report.sizing.advised)

    monkeypatch.setattr(cli_serve, "serve", serve)
    words = ["billing", "--bootstrap", "b:9092", "--max-time-lag", "30s", "--serve", f"{HOST}:0"]
    result = CliRunner().invoke(cli_size.command, words)
    assert result.exception is None, result.output
    assert advised == [4, 4, 4, 4]
    assert looks.closed


def test_commands_of_the_guide_are_valid(tmp_path: Path) -> None:
    config = tmp_path / "client.properties"
    config.touch()
    lines = [line for line in GUIDE.splitlines() if line.startswith("kafka-assignors size ")]
    assert len(lines) == 4
    for line in lines:
        words = line.replace("client.properties", str(config)).split()[2:]
        with cli_size.command.make_context("size", words) as context:  # closes the file
            assert context.params["max_time_lag_s"] == 30
