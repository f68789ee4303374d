"""What kafka-python raises leaves the demo's door to the broker as one line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

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
    """A client of kafka-python's that can be made and then fails at everything."""

    def __init__(self, **_: Any) -> None:
        """Any options will do."""

    def __getattr__(self, name: str) -> Any:
        def fail(*_: object, **__: object) -> None:
            raise KafkaTimeoutError("too late")

        return fail


@pytest.fixture
def _unwilling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka, "KafkaAdminClient", Unwilling)
    monkeypatch.setattr(kafka, "KafkaProducer", Unwilling)


@pytest.mark.usefixtures("_unwilling")
def test_a_broker_that_refuses_is_one_line() -> None:
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


@pytest.mark.usefixtures("_unwilling")
@pytest.mark.parametrize(
    ("due", "text"),
    [
        ((0.0,), r"a record could not be sent: .*too late"),
        ((), r"did not acknowledge all records within 30 s"),
    ],
)
def test_producer_that_fails_is_one_line(tmp_path: Path, due: tuple[float, ...], text: str) -> None:
    sending = replay(*due, log=LogWriter(tmp_path / "driver.jsonl"))
    sending.run()
    with pytest.raises(BrokerError, match=text):
        sending.check()


class FakeProducer:
    """Takes everything, and notes the calls."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.acknowledge: list[Callable[[object], None]] = []

    def send(self, topic: str, *, key: bytes, value: bytes) -> FakeProducer:
        self.calls.append("send")
        return self

    def add_callback(self, acknowledge: Callable[[object], None]) -> None:
        self.acknowledge.append(acknowledge)

    def add_errback(self, fail: object) -> None:
        """No record fails."""

    def flush(self, timeout: float) -> None:
        self.calls.append("flush")

    def close(self, timeout: float) -> None:
        self.calls.append("close")


@pytest.fixture
def producer(monkeypatch: pytest.MonkeyPatch) -> FakeProducer:
    fake = FakeProducer()
    monkeypatch.setattr(kafka, "KafkaProducer", lambda **_: fake)
    return fake


def replay(*due: float, log: LogWriter) -> Replay:
    return Replay("h:1", "t", ((at, Flight(0, b"k", b"v")) for at in due), log)


def test_replay_flushes_at_its_end_and_measures_how_late_it_was(
    producer: FakeProducer, tmp_path: Path
) -> None:
    one = replay(-0.5, 0, log=LogWriter(tmp_path / "driver.jsonl"))
    one.run()
    assert producer.calls == ["send", "send", "flush", "close"]
    assert one.lateness >= 0.5


def test_a_backlog_that_is_stopped_is_not_sent_to_its_end(producer: FakeProducer, tmp_path: Path) -> None:
    one = replay(*[0.0] * 5, log=LogWriter(tmp_path / "driver.jsonl"))
    one._halt.set()
    one.run()
    assert producer.calls == ["close"]


def test_no_more_is_sent_than_the_producer_holds_while_nothing_is_acknowledged(
    producer: FakeProducer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A producer that is full blocks for seconds, and nobody could stop it."""
    monkeypatch.setattr(demo_replay, "MOST_UNDER_WAY", 2)
    one = replay(*[0.0] * 5, log=LogWriter(tmp_path / "driver.jsonl"))
    one.start()
    until(lambda: producer.calls == ["send", "send"])
    producer.acknowledge[0](RecordMetadata(0, 0))
    until(lambda: producer.calls == ["send"] * 3)
    one.stop()
    assert producer.calls == [*["send"] * 3, "close"]


def test_a_replay_that_is_stopped_does_not_wait_for_acknowledgements(
    producer: FakeProducer, tmp_path: Path
) -> None:
    one = replay(3600, log=LogWriter(tmp_path / "driver.jsonl"))
    one.start()
    one.stop()
    assert one.finished.is_set()
    assert producer.calls == ["close"]
