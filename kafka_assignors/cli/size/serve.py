"""Sizes over HTTP: JSON for KEDA's metrics-api trigger, and metrics for Prometheus."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from http import HTTPStatus

import click
from prometheus_client.core import GaugeMetricFamily

from kafka_assignors.cli.common import Address, sigterm_as_interrupt, wait_for_interrupt
from kafka_assignors.cli.exporter.server import (
    KEPT_INTERVALS,
    ReadingPage,
    reading_repeatedly,
    serving,
)
from kafka_assignors.cli.size.report import SizeReport, headline

METRICS = {
    "kafka_assignors_size_up": "1 if the last look at the group gave a size, else 0",
    "kafka_assignors_size_members": "Members of the group",
    "kafka_assignors_size_advised": "Members the group should have now",
    "kafka_assignors_size_holds": "1 if the advised size holds the time lag for all partitions, else 0",
    "kafka_assignors_size_horizon": "Members that hold the time lag over the whole horizon",
    "kafka_assignors_size_oldest_unread_seconds": "Age of the oldest unread record",
    "kafka_assignors_size_hot_partitions": "Partitions with more arrivals than one member reads",
}


class SizePage(ReadingPage[SizeReport]):
    """The last size; ``group_id`` is a label of all its metrics."""

    def __init__(self, group_id: str, interval_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(interval_s, clock)
        self._group_id = group_id
        self._last: tuple[float, SizeReport] | None = None  # when the size expires, and the size

    def publish(self, reading: SizeReport) -> None:
        """Replace the size.  A size kept from an earlier look keeps the time at which it expires."""
        with self._lock:
            self._is_up = not reading.is_kept
            until = self._clock() + KEPT_INTERVALS * max(self._interval_s, reading.took_s)
            if self._last is not None and reading.is_kept:
                until = self._last[0]
            self._last = until, reading

    def as_json(self) -> tuple[HTTPStatus, bytes]:
        """Return status and JSON of the page: 503 without a recent size, so that KEDA falls back."""
        report = self._fresh()
        if report is None:
            return HTTPStatus.SERVICE_UNAVAILABLE, b'{"problem": "there is no recent size"}'
        return HTTPStatus.OK, json.dumps(report.as_json()).encode()

    def describe(self) -> Iterable[GaugeMetricFamily]:
        """Return the metrics without samples, so that a scrape can select some: ``/metrics?name[]=NAME``."""
        return [GaugeMetricFamily(name, meaning, labels=["group"]) for name, meaning in METRICS.items()]

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the metrics.  prometheus-client calls this at each scrape."""
        report = self._fresh()
        with self._lock:
            figures = {"up": float(self._is_up)}
        if report is not None:
            figures["members"] = report.sizing.members or 0
            figures["advised"] = report.sizing.advised
            figures["holds"] = float(report.sizing.holds)
            figures["horizon"] = report.sizing.horizon.members
            figures["hot_partitions"] = len(report.sizing.hot)
            if report.oldest_s is not None:
                figures["oldest_unread_seconds"] = report.oldest_s
        for figure, value in figures.items():
            name = f"kafka_assignors_size_{figure}"
            family = GaugeMetricFamily(name, METRICS[name], labels=["group"])
            family.add_metric([self._group_id], value)
            yield family

    def _fresh(self) -> SizeReport | None:
        with self._lock:
            if self._last is None or self._clock() > self._last[0]:
                return None
            return self._last[1]


def serve(listen: Address, read: Callable[[], SizeReport], group_id: str, interval_s: float) -> None:
    """Serve sizes until interrupted."""
    page = SizePage(group_id, interval_s)
    routes = {"/size": page.as_json}
    with (
        suppress(KeyboardInterrupt),
        sigterm_as_interrupt(),
        serving(page, listen, routes) as served,
    ):
        _log(f"serving http://{served}/size and /metrics, looking every {interval_s:g} s")
        with reading_repeatedly(timed_and_logged(read, _log), page, interval_s, _log):
            wait_for_interrupt()


def timed_and_logged(read: Callable[[], SizeReport], log: Callable[[str], None]) -> Callable[[], SizeReport]:
    """Return a function that reads a size, sets its ``took_s``, and logs each change of the advised size."""
    advised = 0

    def read_and_log() -> SizeReport:
        nonlocal advised
        start = time.monotonic()
        report = read()
        report = replace(report, took_s=time.monotonic() - start)
        if report.sizing.advised != advised:
            advised = report.sizing.advised
            log(headline(report))
        return report

    return read_and_log


def _log(line: str) -> None:
    click.echo(f"kafka-assignors size: {line}", err=True)
