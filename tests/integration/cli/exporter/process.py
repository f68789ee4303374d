"""A running ``kafka-assignors exporter``, scraped over HTTP."""

from __future__ import annotations

import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from kafka_assignors.broker.ports import HOST
from tests.support.command_line import ENV
from tests.support.waiting import until

COMMAND = [sys.executable, "-X", "faulthandler", "-m", "kafka_assignors", "exporter"]


class Exporter:
    """A running exporter."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self.process = process
        self._log = log
        until(lambda: "http://" in self.log() or process.poll() is not None, "the exporter")
        assert process.poll() is None, self.log()
        self._url = next(word for word in self.log().split() if word.startswith("http://")).rstrip(",")

    def log(self) -> str:
        """Return its log."""
        return self._log.read_text(encoding="utf-8")

    def text(self) -> str:
        """Scrape the page."""
        with urllib.request.urlopen(self._url, timeout=30) as answer:  # noqa: S310  # http
            text: str = answer.read().decode()
            return text

    def samples(self, name: str, **labels: str) -> list[Sample]:
        """Return the samples of a metric that have these labels."""
        return [
            sample
            for family in text_string_to_metric_families(self.text())
            for sample in family.samples
            if sample.name == name and labels.items() <= sample.labels.items()
        ]

    def values(self, name: str, **labels: str) -> list[float]:
        """Return their values."""
        return [sample.value for sample in self.samples(name, **labels)]

    def wait_for(self, values: list[float], name: str, **labels: str) -> None:
        """Wait until a metric has exactly these values."""
        until(lambda: self.values(name, **labels) == values, f"{name} {labels} {values}", pause_s=0.2)

    def wait_for_next_reading(self) -> None:
        """Wait until the figures are younger than they are now."""
        ages = self.values("kafka_assignors_exporter_reading_age_seconds")
        until(
            lambda: self.values("kafka_assignors_exporter_reading_age_seconds") < ages,
            "the next reading",
            pause_s=0.1,
        )


@contextmanager
def exporter(folder: Path, *words: str, **env: str) -> Iterator[Exporter]:
    """``kafka-assignors exporter WORDS``, on a free port, ended with SIGTERM."""
    log = folder / "exporter.log"
    words = ("--listen", f"{HOST}:0", *words)
    with (
        log.open("wb") as file,
        subprocess.Popen([*COMMAND, *words], env=ENV | env, stdout=file, stderr=file) as process,
    ):
        try:
            running = Exporter(process, log)
            yield running
            process.send_signal(signal.SIGTERM)
            assert _ended(process) == 0, running.log()
        finally:
            process.kill()


def _ended(process: subprocess.Popen[bytes]) -> int:
    """Return the exit code; a process that does not end in time writes the stacks of its threads."""
    try:
        return process.wait(30)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGABRT)
        return process.wait()
