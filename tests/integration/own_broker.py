"""A broker of a test's own, from the jars, with the listeners and settings it wants."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from kafka_assignors.broker import jvm
from kafka_assignors.broker.jars import fetch_jars
from kafka_assignors.broker.java import find_java
from kafka_assignors.broker.ports import HOST, free_ports
from kafka_assignors.broker.progress import silent
from kafka_assignors.broker.supervised import PortTakenError, Supervised

START_S = 90.0
_ATTEMPTS = 3
Ports = dict[str, int]
Properties = Callable[[Ports], Mapping[str, str]]


@contextmanager
def own_broker(doors: tuple[str, ...], properties: Properties) -> Iterator[Ports]:
    """Run a broker for the length of a ``with`` block.

    Args:
        doors: names of the ports it needs; ``PLAINTEXT`` is the open one.
        properties: door -> port, as settings of the broker.  Called again with other ports if a test beside
            this one took one of them first.

    Yields:
        Door -> port.
    """
    broker, ports = _started(doors, properties)
    try:
        yield ports
    except Exception as error:
        if not broker.running:
            log = broker.log_path.read_text(errors="replace")[-2000:]
            raise AssertionError(f"the broker ended during the test:\n{log}") from error
        raise
    finally:
        broker.stop()


def _started(doors: tuple[str, ...], properties: Properties) -> tuple[Supervised, Ports]:
    for attempt in range(_ATTEMPTS):
        ports = dict(zip(doors, free_ports(len(doors)), strict=True))
        root = Path(tempfile.mkdtemp(prefix="kafka-assignors-"))
        settings = dict(properties(ports))
        spec, env = jvm.launch(find_java(), fetch_jars("broker"), root, settings, scratch=True)
        broker = Supervised(spec, env)
        try:
            broker.wait_ready(ports["PLAINTEXT"], START_S, "starting a broker", silent)
        except PortTakenError:
            if attempt + 1 == _ATTEMPTS:
                raise
        else:
            return broker, ports
    raise AssertionError("unreachable: the last attempt raises")


def addresses(ports: Ports) -> dict[str, str]:
    """Door -> the address of its listener."""
    return {door: f"{door}://{HOST}:{port}" for door, port in ports.items()}
