"""``kafka-assignors watch`` on live groups: its snapshots, and the program in a terminal."""

from __future__ import annotations

import os
import pty
import re
import signal
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from fcntl import ioctl
from pathlib import Path
from typing import Any

import pytest
from kafka.admin import ResourceType

from kafka_assignors import CooperativeStickyAssignor, RangeAssignor
from kafka_assignors.broker import development_broker
from kafka_assignors.broker.ports import free_ports
from kafka_assignors.cli.watch_group.history import RebalanceHistory, SeenRebalance
from kafka_assignors.cli.watch_group.source import GroupSource
from kafka_assignors.plan import TopicPartition
from tests.integration.conftest import FreshNames
from tests.integration.foreign.new_protocol_member import newcomer
from tests.integration.foreign.processes import ForeignMember, librdkafka_command
from tests.integration.guarded import Guarded, login
from tests.integration.lagging import commit, write
from tests.integration.members import Group, Member, about
from tests.support.command_line import COMMAND, ENV
from tests.support.quick import quick
from tests.support.waiting import PATIENCE_S, until

_ESCAPES = re.compile(r"\x1b(\[[0-9;?<>=]*[ -/]*[@-~]|[()][A-Z0-9]|[=>78]|\][^\x07\x1b]*(\x07|\x1b\\))")


class Observer:
    """Looks at a group as ``watch`` does."""

    def __init__(self, group: Group) -> None:
        settings = {"bootstrap_servers": [group.bootstrap]}
        self._source = GroupSource(settings, group.group_id, "earliest")
        self.history = RebalanceHistory()

    def look(self) -> list[str]:
        """Look once; return the causes of all rebalances so far."""
        self.last = self._source.read()
        self.history.add(self.last.snapshot)
        return [str(cause) for rebalance in self.history.rebalances for cause in rebalance.causes]

    def lags(self) -> Mapping[TopicPartition, int]:
        """Read the lag of the last look's partitions."""
        return self._source.read_lag(self.last).lags

    def until_cause(self, cause: str) -> SeenRebalance:
        """Look until a rebalance has the cause; return it."""
        until(lambda: cause in self.look(), cause)
        return next(r for r in self.history.rebalances if cause in map(str, r.causes))

    def close(self) -> None:
        """Close the connections."""
        self._source.close()


def member_id(member: Member) -> str:
    return str(about(member, "member_id"))


def test_causes_and_moves_of_joins_and_deaths(fresh: FreshNames) -> None:
    with Group(fresh, 6) as group, closing(Observer(group)) as observer:
        group.join_all(2, CooperativeStickyAssignor)
        group.settled()
        observer.look()
        newcomer = group.join(CooperativeStickyAssignor)
        owned = group.settled()
        observer.until_cause(f"joined ({member_id(newcomer)})")
        ids = {member_id(member): owned[member.name] for member in group.members}
        until(lambda: observer.look() and observer.history.owners == _owners(ids), "the new owners")
        assert {m.new for r in observer.history.rebalances for m in r.moves} >= {member_id(newcomer)}
        assert observer.lags().keys() == group.partitions
        events = [len(member.of_kind("rebalance")) for member in group.members]
        observer.look()
        assert events == [len(member.of_kind("rebalance")) for member in group.members]

        newcomer.kill()
        gone = observer.until_cause(f"gone ({member_id(newcomer)})")
        assert {move.tp for move in gone.moves if move.old == member_id(newcomer)} == owned[newcomer.name]


def _owners(owned: Mapping[str, frozenset[TopicPartition]]) -> dict[TopicPartition, str]:
    return {tp: name for name, tps in owned.items() for tp in tps}


def test_topic_that_grew_is_the_cause(fresh: FreshNames) -> None:
    with Group(fresh, 2) as group, closing(Observer(group)) as observer:
        group.join(CooperativeStickyAssignor, metadata_max_age_ms=1_000)
        group.settled()
        observer.look()
        (topic,) = group.topics
        group.grow(topic, 3)
        observer.until_cause(f"topic-grew ({topic}: 2 to 3)")


def test_group_of_librdkafka_members(fresh: FreshNames) -> None:
    with Group(fresh, 4) as group, closing(Observer(group)) as observer:
        with closing(ForeignMember("other", librdkafka_command(group, {"client.id": "other"}))):
            until(lambda: _has_members(observer), "a librdkafka member")
            (described,) = observer.last.snapshot.group.members
            assert (described.client_id, len(described.owned)) == ("other", 4)
        until(lambda: observer.look() == [f"gone ({described.member_id})"], "the member to leave")


def _has_members(observer: Observer) -> bool:
    try:
        observer.look()
    except Exception:  # no such group yet
        return False
    return bool(observer.history.owners)


def test_group_that_the_broker_converts_has_an_epoch(fresh: FreshNames) -> None:
    with Group(fresh, 4) as group, closing(Observer(group)) as observer:
        group.join(RangeAssignor)
        group.settled()
        observer.look()
        with newcomer(group) as consumer:

            def converted() -> bool:
                consumer.poll(0.1)
                observer.look()
                return len({*observer.history.owners.values()}) == 2

            until(converted, "both members to own partitions")
            causes = observer.look()
            assert isinstance(observer.last.snapshot.group.epoch, int)
            assert any(cause.startswith("joined") for cause in causes)


# --- the program -------------------------------------------------------------------------------------------


class Terminal:
    """A program in a pseudo terminal of 80 columns and 24 lines."""

    def __init__(self, *words: str, env: dict[str, str] | None = None) -> None:
        self._ours, theirs = pty.openpty()
        ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.process = subprocess.Popen(
            [*COMMAND, "watch", *words],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=ENV | {"TERM": "xterm-256color"} | (env or {}),
            start_new_session=True,
        )
        os.close(theirs)
        self.output = ""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def wait_for(self, text: str) -> None:
        """Wait until the program has written the text."""
        until(lambda: text in _ESCAPES.sub("", self.output), text)

    def press(self, keys: str) -> None:
        """Type."""
        os.write(self._ours, keys.encode())

    def ended(self) -> int:
        """Wait for the end; return the exit code."""
        code = self.process.wait(timeout=PATIENCE_S)
        self._reader.join()
        return code

    def close(self) -> None:
        """Kill the program."""
        self.process.kill()
        self.process.wait()
        self._reader.join()
        os.close(self._ours)

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._ours, 65_536)
            except OSError:  # the program has closed its side
                return
            self.output += data.decode(errors="replace")


def terminal(*words: str, **env: str) -> closing[Terminal]:
    """``kafka-assignors watch WORDS`` in a terminal."""
    return closing(Terminal(*words, env=env))


END: dict[str, Callable[[Terminal], None]] = {
    "q": lambda screen: screen.press("q"),
    "ctrl-c": lambda screen: screen.press("\x03"),
    "sigterm": lambda screen: screen.process.send_signal(signal.SIGTERM),
}


@pytest.mark.parametrize("how", quick(END, "sigterm"))
def test_program_shows_a_join_until_it_ends(fresh: FreshNames, how: str) -> None:
    with Group(fresh, 4) as group:
        group.join(CooperativeStickyAssignor)
        group.settled()
        words = [group.group_id, "--bootstrap", group.bootstrap, "--interval", "0.2"]
        with terminal(*words) as screen:
            screen.wait_for("no rebalance seen since")
            group.join(CooperativeStickyAssignor)
            group.settled()
            screen.wait_for("joined (")
            started = time.monotonic()
            END[how](screen)
            assert screen.ended() == 0
            assert time.monotonic() - started < 10


def test_view_stays_while_the_broker_restarts(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    settings: dict[str, Any] = {
        "backend": "jars",
        # Also shows that a broker creates such a folder and keeps its records.
        "data_dir": tmp_path / "new" / "dir, with comma",
        "port": port,
    }
    with ExitStack() as stack:
        with development_broker(**settings) as broker:
            names = FreshNames(broker.bootstrap)
            group_id, tp = names.group(), TopicPartition(names.topic(), 0)
            commit(broker.bootstrap, group_id, {tp: 0})
            words = [group_id, "--bootstrap", broker.bootstrap, "--interval", "0.2"]
            screen = stack.enter_context(terminal(*words))
            screen.wait_for("1 partition of 1 topic, lag 0")
        screen.wait_for("not read since")
        with development_broker(**settings) as broker:
            write(broker.bootstrap, {tp: 5})
            screen.wait_for("1 partition of 1 topic, lag 5")
            screen.press("q")
            assert screen.ended() == 0


def refused(*words: str, **env: str) -> str:
    """Return the line of a program that opened no screen."""
    with terminal(*words, **env) as screen:
        assert screen.ended() == 1
        assert screen.output.count("\n") == 1
        assert "\x1b" not in screen.output
        return screen.output.strip()


def test_denied_and_missing_groups_are_one_line(guarded: Guarded, tmp_path: Path) -> None:
    group_id = FreshNames(guarded.bootstrap).group()
    words = [group_id, *login(guarded, tmp_path / "client.properties")]
    right = {"KAFKA_ASSIGNORS_SASL_PLAIN_PASSWORD": str(guarded.config()["sasl_plain_password"])}
    assert "not authorised to describe the group" in refused(*words, **right)
    guarded.allow(ResourceType.GROUP, group_id)
    assert "there is no group" in refused(*words, **right)
