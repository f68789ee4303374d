"""The development broker, started from its jars."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from kafka import KafkaConsumer, KafkaProducer

from kafka_assignors.broker import DevelopmentBroker, development_broker, find_java
from kafka_assignors.broker.ports import answers
from kafka_assignors.errors import BrokerError
from tests.integration.conftest import FreshNames
from tests.support.quick import long
from tests.support.waiting import alive, running_below, until

# A program that starts a broker, prints its address and waits.
PROGRAM = """
import sys
from kafka_assignors.broker import development_broker
from kafka_assignors.errors import BrokerError
try:
    with development_broker("jars", data_dir=sys.argv[1] if sys.argv[1:] else None) as broker:
        print(broker.pid, broker.port, broker.data_dir, flush=True)
        sys.stdin.read()
except BrokerError as error:
    print(error)
    sys.exit(1)
"""


@pytest.fixture(scope="module")
def own() -> Iterator[DevelopmentBroker]:
    """A shared broker that tests must not stop.  The end of its block leaves no process or file."""
    with development_broker("jars") as broker:
        jvm = jvm_of(psutil.Process(broker.pid))
        yield broker
    assert not alive(jvm), "the end of the block ends the JVM"
    assert not answers(broker.port), "the end of the block ends the broker"
    assert not broker.data_dir.exists(), "the end of the block removes the files"
    assert not broker.failed, "the end of the block is no failure"
    broker.stop()  # twice is fine


def program(*words: str, limit: Callable[[], None] | None = None) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        preexec_fn=limit,  # noqa: PLW1509  no thread of ours holds a lock here
    )


def jvm_of(supervisor: psutil.Process) -> psutil.Process:
    (jvm,) = supervisor.children()
    assert "kafka.Kafka" in jvm.cmdline()
    return jvm


def test_produced_records_are_consumed(fresh: FreshNames) -> None:
    topic = fresh.topic(partitions=3)
    producer = KafkaProducer(bootstrap_servers=fresh.bootstrap)
    for n in range(300):
        producer.send(topic, str(n).encode(), partition=n % 3)
    producer.close()
    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=fresh.bootstrap,
        group_id=fresh.group(),
        auto_offset_reset="earliest",
        consumer_timeout_ms=20_000,
    )
    seen: set[int] = set()
    for record in consumer:
        seen.add(int(record.value))
        if len(seen) == 300:
            break
    consumer.close()
    assert seen == set(range(300))


def test_topics_have_the_requested_partitions(fresh: FreshNames) -> None:
    topics = fresh.topics(1, 5)
    consumer = KafkaConsumer(bootstrap_servers=fresh.bootstrap)
    assert [len(consumer.partitions_for_topic(topic)) for topic in topics] == [1, 5]
    consumer.close()


def test_broker_is_ready_inside_the_block(own: DevelopmentBroker) -> None:
    assert answers(own.port)
    assert not answers(own.port, "another cluster")
    assert own.running
    assert own.backend == "jars"
    assert own.log_path.exists()


@pytest.mark.long
def test_data_dir_keeps_records(tmp_path: Path) -> None:
    with development_broker("jars", data_dir=tmp_path / "new" / "dir, with comma") as broker:
        producer = KafkaProducer(bootstrap_servers=broker.bootstrap)
        producer.send("kept", b"value").get(timeout=20)
        producer.close()
    with development_broker("jars", data_dir=broker.data_dir) as again:
        consumer = KafkaConsumer(
            "kept",
            bootstrap_servers=again.bootstrap,
            auto_offset_reset="earliest",
            consumer_timeout_ms=20_000,
        )
        assert next(consumer).value == b"value"
        consumer.close()


def test_data_dir_in_use_is_one_line(own: DevelopmentBroker) -> None:
    with (
        pytest.raises(BrokerError, match=rf"^another broker runs in {own.data_dir}: "),
        development_broker("jars", data_dir=own.data_dir),
    ):
        pass
    assert answers(own.port)


def test_taken_port_is_named(own: DevelopmentBroker) -> None:
    with (
        pytest.raises(BrokerError, match=rf"^cannot listen on port {own.port} \("),
        development_broker("jars", port=own.port),
    ):
        pass


@pytest.mark.parametrize("losses", [1, long(9)])
def test_port_lost_to_another_process_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, losses: int
) -> None:
    home = java_that_loses_the_race(tmp_path, losses)
    monkeypatch.setenv("JAVA_HOME", str(home))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "tmp").mkdir()
    if losses == 1:
        with development_broker("jars") as broker:
            assert answers(broker.port)
    else:
        with pytest.raises(BrokerError, match="another process took port"), development_broker("jars"):
            pass
    assert len((home / "lost").read_text()) == min(losses, 3)
    assert list((tmp_path / "tmp").iterdir()) == []


def java_that_loses_the_race(folder: Path, losses: int) -> Path:
    """Make a JAVA_HOME whose first ``losses`` brokers find their port taken."""
    home = folder / "home"
    (home / "bin").mkdir(parents=True)
    (home / "lost").touch()
    script = home / "bin" / "java"
    script.write_text(f"""#!/bin/sh
case "$*" in *kafka.Kafka*)
  if [ "$(wc -c < '{home}/lost')" -lt {losses} ]; then
    printf x >> '{home}/lost'
    echo 'Caused by: java.net.BindException: Address already in use'
    exit 1
  fi
esac
exec '{find_java().path}' "$@"
""")
    script.chmod(0o755)
    return home


def test_refused_setting_is_quoted_from_the_log() -> None:
    with (
        pytest.raises(
            BrokerError, match=r"did not start: ConfigException: Invalid value abc .*num\.partitions"
        ) as caught,
        development_broker("jars", properties={"num.partitions": "abc"}),
    ):
        pass
    message = str(caught.value)
    assert "\n" not in message
    log = Path(message.rpartition("(log: ")[2].rstrip(")"))
    assert "ConfigException" in log.read_text()
    assert [log] == list(log.parent.iterdir())  # the log alone is left
    log.unlink()
    log.parent.rmdir()


def test_reserved_setting_is_refused() -> None:
    with pytest.raises(BrokerError, match=r"'log\.dirs'"), development_broker(properties={"log.dirs": "x"}):
        pass


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_impossible_data_dir_is_named(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(BrokerError, match=r"^cannot create the broker's directory .*file"),
        development_broker("jars", data_dir=tmp_path / place),
    ):
        pass


def test_directory_of_an_unknown_user_is_named() -> None:
    with (
        pytest.raises(BrokerError, match=r"^cannot find the directory ~no-such-user/kafka: "),
        development_broker("jars", data_dir="~no-such-user/kafka"),
    ):
        pass


@pytest.mark.parametrize("limit_bytes", [100, long(100_000)], ids=["at once", "once the JVM runs"])
def test_file_size_limit_is_one_line(tmp_path: Path, limit_bytes: int) -> None:
    import resource

    process = program(
        str(tmp_path), limit=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, limit_bytes))
    )
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 1
    assert out.count("\n") == 1
    assert "File too large" in out


@pytest.mark.skipif(os.geteuid() != 0 or sys.platform != "linux", reason="only root can mount a small disk")
@pytest.mark.parametrize("size", ["4k", long("32k")], ids=["at once", "once the JVM runs"])
def test_full_disk_is_one_line(tmp_path: Path, size: str) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", tmp_path], check=True)
    try:
        with (
            pytest.raises(BrokerError, match=r"^[^\n]*No space left on device[^\n]*$"),
            development_broker("jars", data_dir=tmp_path),
        ):
            pass
    finally:
        subprocess.run(["umount", tmp_path], check=True)


def test_program_killed_with_9_leaves_no_jvm_and_no_directory() -> None:
    process = program()
    assert process.stdout is not None
    pid, port, directory = process.stdout.readline().split()
    supervisor = psutil.Process(int(pid))
    jvm = jvm_of(supervisor)
    process.kill()
    process.communicate()
    until(lambda: not alive(supervisor) and not alive(jvm), "supervisor and JVM to end")
    assert not answers(int(port))
    assert not Path(directory).exists()


@pytest.mark.parametrize("step", [long("kafka.tools.StorageTool"), "kafka.Kafka"])
def test_program_killed_with_9_during_start_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    process = program()
    started = psutil.Process(process.pid)
    until(lambda: running_below(started, step), f"a JVM that runs {step}")
    assert [path.name for path in tmp_path.glob("*/lock")] == ["lock"]
    descendants = started.children(recursive=True)
    process.kill()
    out, _ = process.communicate()
    assert out == ""  # it was not ready
    until(lambda: not any(alive(p) for p in descendants), "supervisor and JVM to end")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux kills a child with its parent")
def test_supervisor_killed_with_9_leaves_no_jvm() -> None:
    with development_broker("jars") as broker:
        jvm = jvm_of(psutil.Process(broker.pid))
        os.kill(broker.pid, signal.SIGKILL)
        until(lambda: not alive(jvm), "the JVM to end")
        until(lambda: not broker.running, "the program to notice")
        assert broker.failed
    assert not broker.data_dir.exists()


@pytest.mark.long
def test_exception_in_the_block_stops_the_broker_and_propagates() -> None:
    with pytest.raises(KeyboardInterrupt), development_broker("jars") as broker:
        raise KeyboardInterrupt
    assert not answers(broker.port)
    assert not broker.data_dir.exists()
