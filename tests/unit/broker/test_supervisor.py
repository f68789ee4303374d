"""The supervisor, with small programs in the broker's place."""

from __future__ import annotations

import json
import os
import signal
import socketserver
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from kafka_assignors.broker.ports import HOST, answers, free_ports
from kafka_assignors.broker.progress import silent
from kafka_assignors.broker.supervised import PATIENCE_S, PortTakenError, Spec, Supervised
from kafka_assignors.errors import BrokerError
from tests.support.waiting import alive, until

SLEEP = "import os, sys, time; open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(600)"
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); " + SLEEP

# A program that starts a supervisor, prints its pid, and follows commands on stdin.
PROGRAM = """
import json, os, sys, time
from kafka_assignors.broker.supervised import Spec, Supervised
supervised = Supervised(Spec(**json.loads(sys.argv[1])), os.environ)
if sys.argv[2] == "fork" and os.fork() == 0:  # holds the pipe open after its parent is gone
    time.sleep(600)
print(supervised.pid, flush=True)
sys.stdin.readline()
if sys.argv[2] == "detach":
    supervised.detach()
    supervised.stop()  # does nothing now
"""


class Place:
    """A scratch directory with a program in it that waits to be ended."""

    def __init__(self, tmp_path: Path) -> None:
        self.scratch = tmp_path / "scratch"
        self.scratch.mkdir()
        self.pid_file = tmp_path / "child.pid"
        self.log = self.scratch / "broker.log"

    def spec(self, *commands: Sequence[str], grace_s: float = 10.0, afterwards: Sequence[str] = ()) -> Spec:
        """Make a spec of ``commands``, by default one that sleeps."""
        return Spec(
            commands=commands or (self.python(SLEEP),),
            cwd=str(self.scratch),
            log=str(self.log),
            scratch=str(self.scratch),
            grace_s=grace_s,
            afterwards=(afterwards,) if afterwards else (),
        )

    def python(self, code: str) -> list[str]:
        """Make the command that runs ``code``, which gets the pid file's name."""
        return [sys.executable, "-c", code, str(self.pid_file)]

    def child(self) -> psutil.Process:
        """Wait for the program to run; return its process."""
        until(lambda: self.pid_file.exists() and self.pid_file.read_text(), "the child to run")
        return psutil.Process(int(self.pid_file.read_text()))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def program(spec: Spec, what: str = "hold") -> tuple[subprocess.Popen[str], psutil.Process]:
    """Run PROGRAM; return it and its supervisor."""
    fields = {name: getattr(spec, name) for name in spec.__dataclass_fields__}
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, json.dumps(fields), what],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert process.stdout is not None
    return process, psutil.Process(int(process.stdout.readline()))


def test_stop_ends_the_broker_and_removes_its_directory(place: Place) -> None:
    supervised = Supervised(place.spec(), os.environ)
    child = place.child()
    supervised.stop()
    assert not alive(child)
    assert not place.scratch.exists()
    assert not supervised.failed
    supervised.stop()  # twice is fine


def test_broker_that_ignores_sigterm_is_killed(place: Place) -> None:
    supervised = Supervised(place.spec(place.python(STUBBORN), grace_s=0.2), os.environ)
    child = place.child()
    supervised.stop()
    assert not alive(child)


@pytest.mark.parametrize("what", ["hold", "fork"])
def test_program_killed_with_9_leaves_nothing(place: Place, what: str) -> None:
    """Though a fork holds the pipe."""
    process, supervisor = program(place.spec(), what)
    child = place.child()
    forks = [p for p in psutil.Process(process.pid).children() if p.pid != supervisor.pid]
    process.kill()
    process.wait()
    until(lambda: not alive(child) and not alive(supervisor), "both to end")
    assert not place.scratch.exists()
    assert [alive(fork) for fork in forks] == [True] * (what == "fork")
    for fork in forks:
        fork.kill()
    process.communicate()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux kills a child with its parent")
def test_supervisor_killed_with_9_ends_the_broker(place: Place) -> None:
    supervised = Supervised(place.spec(), os.environ)
    child = place.child()
    os.kill(supervised.pid, signal.SIGKILL)
    until(lambda: not alive(child), "the child to end")
    supervised.stop()
    assert not place.scratch.exists()


def test_detached_broker_runs_until_sigterm(place: Place) -> None:
    process, supervisor = program(place.spec(), "detach")
    child = place.child()
    process.communicate("\n")
    assert process.returncode == 0
    with pytest.raises(psutil.TimeoutExpired):  # longer than it takes to notice another parent
        supervisor.wait(1.5)
    assert alive(child)
    assert place.scratch.exists()
    supervisor.terminate()
    until(lambda: not alive(child) and not alive(supervisor), "both to end")
    assert not place.scratch.exists()


def test_commands_run_until_one_fails_and_the_log_is_kept(place: Place) -> None:
    supervised = Supervised(
        place.spec(
            place.python("print('one', flush=True); open('other', 'w').close()"),
            place.python("import sys; print('two', flush=True); sys.exit(7)"),
            place.python("print('three', flush=True)"),
        ),
        os.environ,
    )
    assert supervised.wait(30)
    assert supervised.failed
    assert [file.name for file in place.scratch.iterdir()] == ["broker.log"]
    assert place.log.read_text() == "one\ntwo\n"
    supervised.stop()
    assert not place.scratch.exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_afterwards_commands_are_run(place: Place, tmp_path: Path, number: signal.Signals) -> None:
    done = tmp_path / "done"
    supervised = Supervised(place.spec(afterwards=["touch", str(done)]), os.environ)
    child = place.child()
    os.kill(supervised.pid, number)
    until(lambda: not alive(child), "the child to end")
    supervised.stop()
    assert done.exists()


@pytest.mark.parametrize("first", [["sleep", "600"], ["false"], ["no-such-command"]])
def test_failing_afterwards_command_stops_no_other(
    place: Place, tmp_path: Path, first: Sequence[str]
) -> None:
    done = tmp_path / "done"
    spec = replace(place.spec(), afterwards=(first, ["touch", str(done)]), afterwards_s=0.3)
    supervised = Supervised(spec, os.environ)
    child = place.child()
    os.kill(supervised.pid, signal.SIGTERM)
    assert supervised.wait(30)
    assert not alive(child)
    assert done.exists()
    assert not place.scratch.exists()
    assert not supervised.failed  # it was asked to end
    done.unlink()
    supervised.stop()
    assert done.exists()  # the program tries what failed once more
    assert not place.scratch.exists()


def test_program_waits_longer_than_the_supervisors_time_outs(place: Place) -> None:
    spec = place.spec(afterwards=["true"])
    assert spec.patience_s > spec.grace_s + spec.afterwards_s
    assert spec.patience_s <= PATIENCE_S


def test_program_runs_the_afterwards_commands_of_a_killed_supervisor(place: Place, tmp_path: Path) -> None:
    note = 'echo "$WHICH" > ' + str(tmp_path / "which")
    supervised = Supervised(place.spec(afterwards=["sh", "-c", note]), {**os.environ, "WHICH": "this"})
    place.child()
    os.kill(supervised.pid, signal.SIGKILL)
    supervised.stop()
    assert (tmp_path / "which").read_text() == "this\n"


class Theirs(socketserver.StreamRequestHandler):
    """A Kafka that is ready for clients, of a cluster called "theirs" without brokers."""

    def handle(self) -> None:
        self.request.recv(64)
        self.request.sendall(b"\0\0\0\x0a" + bytes(10))
        self.request.recv(64)
        self.request.sendall(b"\0\0\0\x18" + bytes(8) + b"\0\x06theirs" + bytes(8))


@pytest.fixture
def their_port() -> Iterator[int]:
    with socketserver.ThreadingTCPServer((HOST, 0), Theirs) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


def test_another_kafka_on_the_port_is_not_mistaken_for_ours(place: Place, their_port: int) -> None:
    assert answers(their_port, "theirs")
    late = place.python(
        "import time; time.sleep(0.5); raise SystemExit('BindException: Address already in use')"
    )
    supervised = Supervised(replace(place.spec(late), cluster_id="ours"), os.environ)
    with pytest.raises(PortTakenError, match=str(their_port)):
        supervised.wait_ready(their_port, 30, "starting", silent)
    assert not place.scratch.exists()


def test_error_quotes_no_earlier_run_in_the_log(place: Place) -> None:
    place.log.write_text("Caused by: java.net.BindException: Address already in use\n")
    spec = replace(place.spec(place.python("raise SystemExit('ERROR of this run')")), scratch=None)
    supervised = Supervised(spec, os.environ)
    (port,) = free_ports(1)
    with pytest.raises(BrokerError, match=r"did not start: of this run \(log: ") as failure:
        supervised.wait_ready(port, 30, "starting", silent)
    assert not isinstance(failure.value, PortTakenError)
    assert supervised.error_line() == "of this run"


def test_broker_that_does_not_answer_in_time_is_stopped(place: Place) -> None:
    supervised = Supervised(place.spec(), os.environ)
    child = place.child()
    (port,) = free_ports(1)
    with pytest.raises(BrokerError, match=rf"^the broker does not answer on port {port} after 0 s: "):
        supervised.wait_ready(port, 0.1, "starting", silent)
    assert not alive(child)
    assert list(place.scratch.iterdir()) == [place.log]  # which the error names
