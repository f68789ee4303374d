"""A broker for one test, from the jars, with its own listeners and settings."""

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
def own_broker(listeners: tuple[str, ...], properties: Properties) -> Iterator[Ports]:
    """Run a broker for the length of a ``with`` block.

    Args:
        listeners: names of its ports; ``PLAINTEXT`` has no authentication.
        properties: makes the broker's settings from the ports by name.  Called again with other ports if
            another process takes one of them first.

    Yields:
        Name -> port.
    """
    broker, ports = _start(listeners, properties)
    try:
        yield ports
    except Exception as error:
        if not broker.running:
            log = broker.log_path.read_text(errors="replace")[-2000:]
            raise AssertionError(f"the broker ended during the test:\n{log}") from error
        raise
    finally:
        broker.stop()


def _start(listeners: tuple[str, ...], properties: Properties) -> tuple[Supervised, Ports]:
    for attempt in range(_ATTEMPTS):
        ports = dict(zip(listeners, free_ports(len(listeners)), strict=True))
        root = Path(tempfile.mkdtemp(prefix="kafka-assignors-"))
        settings = dict(properties(ports))
        spec, env = jvm.prepare(find_java(), fetch_jars("broker"), root, settings, scratch=True)
        broker = Supervised(spec, env)
        try:
            broker.wait_ready(ports["PLAINTEXT"], START_S, "starting a broker", silent)
        except PortTakenError:
            if attempt + 1 == _ATTEMPTS:
                raise
        else:
            return broker, ports
    raise AssertionError("unreachable: the last attempt raises")


def listener_settings(listeners: Ports, advertised: Ports, **protocols: str) -> dict[str, str]:
    """Return a broker's settings of its listeners.

    Args:
        listeners: name -> port; ``CONTROLLER`` is its controller's, and brokers use ``PLAINTEXT``.
        advertised: name of a listener -> the port to which its clients connect.
        protocols: name of a listener -> its security protocol, by default ``PLAINTEXT``.
    """
    return {
        "listeners": _addresses(listeners),
        "advertised.listeners": _addresses(advertised),
        "listener.security.protocol.map": ",".join(
            f"{name}:{protocols.get(name, 'PLAINTEXT')}" for name in listeners
        ),
        "inter.broker.listener.name": "PLAINTEXT",
        "controller.quorum.voters": f"1@{HOST}:{listeners['CONTROLLER']}",
    }


def _addresses(ports: Ports) -> str:
    return ",".join(f"{name}://{HOST}:{port}" for name, port in ports.items())
