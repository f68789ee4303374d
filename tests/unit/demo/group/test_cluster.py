"""The clients of the broker: each failure is one line, and the producer stops when it should."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import Mock

import kafka
import pytest
from kafka.errors import KafkaTimeoutError

from demo.data import replay as demo_replay
from demo.data.events import Flight
from demo.data.replay import Replay
from demo.group.cluster import Cluster
from demo.group.logs import LogWriter
from kafka_assignors.errors import BrokerError
from tests.support.waiting import until
from tests.unit.demo.scenes.fake_group import RecordMetadata


class Unwilling:
    """A client of kafka-python that can be made and then fails at everything."""

    def __init__(self, **_: Any) -> None:
        """Any options will do."""

    def __getattr__(self, name: str) -> Any:
        return Mock(side_effect=KafkaTimeoutError("too late"))


def test_broker_that_refuses_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka, "KafkaAdminClient", Unwilling)
    cluster = Cluster("h:1")
    with pytest.raises(BrokerError, match=r"topic t could not be created: .*too late"):
        cluster.create_topic("t", 1)
    with pytest.raises(BrokerError, match="does not return the end offsets of t"):
        cluster.end_offsets("t", 1)
    with pytest.raises(BrokerError, match=r"does not return the committed offsets of g: .*too late"):
        cluster.committed("g", "t")
    with pytest.raises(BrokerError, match=r"does not return the size of t: .*too late"):
        cluster.log_bytes("t")
    cluster.delete(["t"], ["g"])
    cluster.close()


def replay(folder: Path, *due: float) -> Replay:
    flights = ((at, Flight(0, b"k", b"v")) for at in due)
    return Replay("h:1", "t", flights, LogWriter(folder / "driver.jsonl"))


@pytest.mark.parametrize(
    ("due", "text"),
    [
        ((0.0,), r"a record could not be sent: .*too late"),
        ((), r"did not acknowledge all records within 30 s"),
    ],
)
def test_producer_that_fails_is_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, due: tuple[float, ...], text: str
) -> None:
    monkeypatch.setattr(kafka, "KafkaProducer", Unwilling)
    sending = replay(tmp_path, *due)
    sending.run()
    with pytest.raises(BrokerError, match=text):
        sending.check()


@pytest.fixture
def producer(monkeypatch: pytest.MonkeyPatch) -> Mock:
    """A producer that takes everything, and acknowledges nothing."""
    fake = Mock()
    monkeypatch.setattr(kafka, "KafkaProducer", lambda **_: fake)
    return fake


def calls(producer: Mock) -> list[str]:
    return [name for name, *_ in producer.method_calls]


def test_replay_flushes_at_its_end_and_measures_how_late_it_was(producer: Mock, tmp_path: Path) -> None:
    sending = replay(tmp_path, -0.5, 0)
    sending.run()
    assert calls(producer) == ["send", "send", "flush", "close"]
    assert sending.lateness >= 0.5


@pytest.mark.parametrize("due", [0.0, 3600.0], ids=["backlog", "replay"])
def test_stopped_traffic_neither_sends_nor_waits(producer: Mock, tmp_path: Path, due: float) -> None:
    sending = replay(tmp_path, due)
    sending.stop()
    sending.start()
    assert sending.finished.wait(30)
    assert calls(producer) == ["close"]


def test_no_more_is_sent_than_the_producer_holds_while_nothing_is_acknowledged(
    producer: Mock, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A full producer blocks for seconds, and could not be stopped."""
    monkeypatch.setattr(demo_replay, "MOST_UNDER_WAY", 2)
    sending = replay(tmp_path, *[0.0] * 5)
    sending.start()
    until(lambda: calls(producer) == ["send", "send"])
    acknowledge = producer.send.return_value.add_callback.call_args.args[0]
    acknowledge(RecordMetadata(0, 0))
    until(lambda: calls(producer) == ["send"] * 3)
    sending.stop()
    assert calls(producer) == [*["send"] * 3, "close"]
