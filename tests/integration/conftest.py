"""One real broker for all integration tests and all workers of pytest-xdist, and fresh names on it.

``KAFKA_ASSIGNORS_TEST_BROKER`` says which: ``host:port`` of one that runs already, ``docker``, ``jars``, or
``auto`` (the default: Docker when an engine answers, else the jars).  Without a broker the tests fail; they
never skip.
"""

from __future__ import annotations

import logging
import os
import signal
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaAdminClient
from kafka.admin import NewTopic

from kafka_assignors.broker import development_broker
from kafka_assignors.broker.docker import PORT, compose_command, compose_file
from kafka_assignors.broker.ports import free_ports
from tests.integration.guarded import Guarded, guarded_broker, make_coordinators
from tests.support.broker.backend import WANTED
from tests.support.waiting import PATIENCE_S

FAULTS = "faults"  # property of a chaos test: kind -> number of faults
FOLDER = Path(__file__).parent
LONGEST = {  # the files of tests that take longest
    FOLDER / "broker/test_cli.py",
    FOLDER / "chaos/test_chaos.py",
    FOLDER / "demo/test_backlog.py",  # it runs the whole demo
    FOLDER / "demo/test_demo_ends.py",
    FOLDER / "stateful/test_faults.py",
    FOLDER / "stateful/test_stateful.py",
}
_SHARED = pytest.StashKey[str]()

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell ignores SIGINT in background jobs; programs that tests interrupt would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)


class FreshNames:
    """Topics and groups that no other test uses."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap

    def group(self, prefix: str = "group") -> str:
        """Return the id of a group without history."""
        return f"{prefix}-{uuid.uuid4().hex[:12]}"

    def topic(
        self, partitions: int = 1, prefix: str = "topic", configs: Mapping[str, str] | None = None
    ) -> str:
        """Create a topic, with settings if any; return its name."""
        return self.topics(partitions, prefix=prefix, configs=configs)[0]

    def topics(
        self, *partitions: int, prefix: str = "topic", configs: Mapping[str, str] | None = None
    ) -> list[str]:
        """Create one topic per number of partitions, in one request; return their names."""
        names = [f"{prefix}-{uuid.uuid4().hex[:12]}" for _ in partitions]
        with KafkaAdminClient(bootstrap_servers=self.bootstrap) as admin:
            admin.create_topics(
                [
                    NewTopic(n, num_partitions=p, replication_factor=1, topic_configs=dict(configs or {}))
                    for n, p in zip(names, partitions, strict=True)
                ]
            )
            admin.wait_for_topics(names, timeout_ms=round(1000 * PATIENCE_S))
        return names


def uses_docker(wanted: str) -> bool:
    """Return whether the broker runs in Docker: then each worker has its own, by pytest-docker."""
    return wanted == "docker" or (wanted == "auto" and compose_command() is not None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take longest, so that no worker has one left when the others are done."""
    assert not (missing := [path for path in LONGEST if not path.is_file()]), missing
    ours = [item for item in items if FOLDER in item.path.parents]
    in_order = iter(sorted(ours, key=lambda item: item.path not in LONGEST))
    items[:] = [next(in_order) if FOLDER in item.path.parents else item for item in items]


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Start one broker from the jars for all workers of pytest-xdist, and send them its address."""
    config, wanted = node.config, os.environ.get(WANTED, "auto")
    if wanted not in {"auto", "jars"} or uses_docker(wanted):
        return
    if _SHARED not in config.stash:
        running = ExitStack()
        config.add_cleanup(running.close)
        config.stash[_SHARED] = running.enter_context(development_broker("jars")).bootstrap
        make_coordinators(config.stash[_SHARED])
    node.workerinput["bootstrap"] = config.stash[_SHARED]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the number of faults of each kind in the chaos tests."""
    counts: Counter[str] = Counter()
    for report in terminalreporter.getreports("passed") + terminalreporter.getreports("failed"):
        for name, faults in report.user_properties:
            counts.update(faults if name == FAULTS else {})
    if counts:
        terminalreporter.section("faults")
        for fault, count in counts.items():
            terminalreporter.write_line(f"{count:6} {fault}")


@pytest.fixture(scope="session")
def kafka_bootstrap(request: pytest.FixtureRequest) -> Iterator[str]:
    """``host:port`` of a broker for the whole session."""
    wanted = os.environ.get(WANTED, "auto")
    if shared := getattr(request.config, "workerinput", {}).get("bootstrap"):
        yield shared
    elif ":" in wanted:
        yield wanted
    elif uses_docker(wanted):
        # Not in the signature, because the fixture starts containers when it is requested.
        request.getfixturevalue("docker_services")
        port = int(os.environ[PORT])
        yield f"{request.getfixturevalue('docker_ip')}:{port}"
    elif wanted in {"auto", "jars"}:
        with development_broker("jars") as broker:
            make_coordinators(broker.bootstrap)
            yield broker.bootstrap
    else:
        pytest.fail(f"{WANTED}={wanted}: expected host:port, docker, jars or auto", pytrace=False)


@pytest.fixture(scope="session")
def fresh(kafka_bootstrap: str) -> FreshNames:
    """Fresh topics and group ids on the shared broker."""
    return FreshNames(kafka_bootstrap)


@pytest.fixture(scope="session")
def guarded() -> Iterator[Guarded]:
    """A broker for the whole session, with a proxy and a listener with a password."""
    with guarded_broker() as broker:
        yield broker


@pytest.fixture
def names(guarded: Guarded) -> Iterator[FreshNames]:
    """Fresh names on the guarded broker, with its proxy reset."""
    guarded.proxy.reset()
    yield FreshNames(guarded.bootstrap)
    guarded.proxy.reset()


@pytest.fixture
def muted_kafka() -> Iterator[None]:
    """Mute kafka-python: pytest would keep its errors, and with them its sockets."""
    kafka = logging.getLogger("kafka")
    before = kafka.level
    kafka.setLevel(logging.CRITICAL)
    yield
    kafka.setLevel(before)


# --- pytest-docker's own fixtures, overridden ---


@pytest.fixture(scope="session")
def docker_compose_command() -> str:
    """Return a compose command that answers; pytest-docker would assume ``docker compose``."""
    if (command := compose_command()) is None:
        pytest.fail(f"{WANTED}=docker, but no Docker engine with Compose answers", pytrace=False)
    return " ".join(command)


@pytest.fixture(scope="session")
def docker_compose_file() -> str:
    """Test with the package's compose file."""
    return str(compose_file())


@pytest.fixture(scope="session")
def docker_setup() -> Iterator[list[str]]:
    """Start on a free port, and wait for the file's health check."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(PORT, str(free_ports(1)[0]))
        yield ["up --detach --wait --wait-timeout 180"]
