"""``kafka-assignors exporter``: its options, its page over HTTP, and its readings in the background."""

from __future__ import annotations

import re
import socket
import urllib.request
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from kafka_assignors.cli import cli
from kafka_assignors.cli.exporter.command import command
from kafka_assignors.cli.exporter.page import LagPage
from kafka_assignors.cli.exporter.reading import ClusterReading
from kafka_assignors.cli.exporter.server import ProblemLog, reading_repeatedly, serving
from kafka_assignors.errors import BrokerError, GroupError, LagDeniedError, LagError, LagUnreachableError
from tests.support.examples import ROOT
from tests.support.waiting import until
from tests.unit.cli.exporter.cluster_reading import a_reading

HOST = "127.0.0.1"
GUIDE = (ROOT / "docs" / "guides" / "exporter.md").read_text(encoding="utf-8")


def options(*words: str) -> dict[str, object]:
    """Return the parsed options."""
    return command.make_context("exporter", ["--bootstrap", "b:9092", *words]).params


def refused(*words: str) -> str:
    """Return the line of a usage error."""
    with pytest.raises(click.UsageError) as refusal:
        options(*words)
    return refusal.value.format_message()


@pytest.mark.parametrize(
    ("given", "host", "port"),
    [("127.0.0.1:8000", HOST, 8000), ("localhost:0", "localhost", 0), ("[::1]:9308", "::1", 9308)],
)
def test_listen_is_an_address(given: str, host: str, port: int) -> None:
    listen = options("--listen", given)["listen"]
    assert (listen, str(listen)) == ((host, port), given)


@pytest.mark.parametrize("given", ["8000", ":8000", "localhost:http", "localhost:70000"])
def test_other_address_is_refused(given: str) -> None:
    assert refused("--listen", given) == f"Invalid value for '--listen': expected HOST:PORT, got {given!r}"


@pytest.mark.parametrize("option", ["--groups", "--topics"])
def test_pattern_that_is_no_expression_is_refused(option: str) -> None:
    (line,) = refused(option, "billing", option, "a(b").splitlines()
    assert line.startswith(f"Invalid value for '{option}': 'a(b' is no regular expression: missing )")


def test_pattern_with_too_many_repetitions_is_refused() -> None:
    assert refused("--groups", "a{99999999999}").endswith("expression: the repetition number is too large")


@pytest.mark.parametrize("seconds", ["0", "nan", "4000", "x"])
def test_interval_has_bounds(seconds: str) -> None:
    assert "--interval" in refused("--interval", seconds)


def test_taken_port_is_one_line() -> None:
    with socket.create_server((HOST, 0)) as taken:
        port = taken.getsockname()[1]
        words = ["exporter", "--bootstrap", "b:9092", "--listen", f"{HOST}:{port}"]
        done = CliRunner().invoke(cli, words, env={})
    assert isinstance(done.exception, BrokerError)
    assert str(done.exception) == f"cannot listen on {HOST}:{port}: Address already in use"


def test_name_that_no_host_can_have_is_one_line() -> None:
    """Python refuses such a name with a UnicodeError."""
    words = ["exporter", "--bootstrap", "b:9092", "--listen", "a..b:8000"]
    done = CliRunner().invoke(cli, words, env={})
    assert isinstance(done.exception, BrokerError)
    assert str(done.exception).startswith("cannot listen on a..b:8000: ")


def test_page_over_http() -> None:
    page = LagPage("prod", 10)
    page.publish(a_reading())
    listen = options("--listen", f"{HOST}:0")["listen"]
    with serving(page, listen) as address:  # type: ignore[arg-type]  # click's values have no types
        assert address.port
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=30) as answer:
            text = answer.read().decode()
            assert answer.headers["Content-Type"].startswith("text/plain; version=")
    shown = re.search(r"^```console\n\$ curl .* \| grep (\w+)\n(.*?)^```", GUIDE, re.DOTALL | re.MULTILINE)
    assert shown is not None
    assert [line for line in text.splitlines() if shown[1] in line] == shown[2].splitlines()
    with socket.socket() as free:  # closed, so that the next exporter can have the port
        free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        free.bind((HOST, address.port))


def test_reading_goes_on_after_failures() -> None:
    page, lines = LagPage("prod", 10), list[str]()
    readings: list[ClusterReading | Exception] = [
        a_reading(),
        LagUnreachableError("no broker answers: refused"),
        LagUnreachableError("no broker answers: connection lost"),
        ValueError("odd"),
        a_reading(),
    ]
    count = 0

    def read() -> ClusterReading:
        nonlocal count
        current = readings[min(count, len(readings) - 1)]
        count += 1
        if isinstance(current, Exception):
            raise current
        return current

    with reading_repeatedly(read, page, 0.001, lines.append):
        until(lambda: count > len(readings), "readings")
    left_out = "left out group payroll: not authorised to describe the group"
    odd = "the request failed: odd"
    assert lines == [left_out, "no broker answers: refused", odd, left_out]
    assert next(iter(page.collect())).samples[0].value == 1


def caused(error: BrokerError, cause: LagError) -> BrokerError:
    error.__cause__ = cause
    return error


def test_failure_is_logged_when_its_cause_changes() -> None:
    """One cause may have other figures, or other words of kafka-python, at each attempt."""
    unreachable, denied = LagUnreachableError("no broker answers"), LagDeniedError("denied")
    failures = [
        GroupError("one look: a size needs two"),
        GroupError("looks 3 s apart are too close"),
        GroupError("looks 4.5 s apart are too close"),
        click.UsageError("--load-topic: no such topic"),
        caused(BrokerError("no Kafka broker answers: refused"), unreachable),
        caused(BrokerError("no Kafka broker answers: connection lost"), unreachable),
        caused(BrokerError("group 'g': not authorised"), denied),
    ]
    lines: list[str] = []
    count = 0

    def read() -> ClusterReading:
        nonlocal count
        count += 1
        raise failures[min(count, len(failures)) - 1]

    with reading_repeatedly(read, LagPage("prod", 10), 0.001, lines.append):
        until(lambda: count > len(failures) + 1, "readings")
    assert lines == [str(failures[number]) for number in (0, 1, 3, 4, 6)]


def test_problem_is_logged_when_it_appears_and_when_all_have_passed() -> None:
    lines: list[str] = []
    problems = ProblemLog(lines.append)
    for current in ([], ["a"], ["a", "b"], ["b"], ["b", "a"], [], []):
        problems.update({problem: problem for problem in current})
    assert lines == ["a", "b", "a", "no problem is left"]


def test_guides_commands_are_valid() -> None:
    shown = [line for line in GUIDE.splitlines() if line.startswith("kafka-assignors exporter")]
    assert len(shown) == 2
    for line in shown:
        words = [word.strip("'") for word in line.split()[2:]]
        if "--config" in words:
            words[words.index("--config") + 1] = str(Path(__file__))
        with command.make_context("exporter", words) as context:  # closes the file
            assert isinstance(context.params["groups"], tuple)
