"""Members of other clients, in processes of their own: Java's and librdkafka's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from bench.javapeer import JavaBrokenError, NoJavaError, compiled
from tests.golden import java_sources
from tests.integration.members import Group
from tests.support.waiting import until

_LEAVE_S = 30.0
_ROOT = Path(__file__).parents[3]


class ForeignMember:
    """A member that prints a line for each action, until its standard input ends.

    Attributes:
        name: its ``client.id``.
        lines: its output.
    """

    def __init__(self, name: str, command: Sequence[str]) -> None:
        self.name = name
        self.lines: list[str] = []
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=_ROOT,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def wait_for(self, line: str, since: int = 0) -> None:
        """Wait for an output line that starts with ``line``."""
        until(lambda: any(printed.startswith(line) for printed in self.lines[since:]), line)

    def close(self) -> None:
        """Leave the group and end."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(_LEAVE_S)
        self.kill()

    def kill(self) -> None:
        """``kill -9``."""
        self._process.kill()
        self._process.wait()
        self._reader.join()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.lines.append(line.rstrip())


def java_program(folder: Path, *names: str) -> tuple[Path, str]:
    """Compile Java programs of ``tests/golden``; return the launcher and the class path.

    Fails without a JDK where ``CI`` is set, so that CI never loses its Java members unnoticed.

    Raises:
        NoJavaError: there is no JDK, and this is not CI.
    """
    try:
        return compiled(folder, *java_sources(*names))
    except JavaBrokenError as error:
        pytest.fail(str(error), pytrace=False)
    except NoJavaError as reason:
        if os.environ.get("CI"):
            pytest.fail(f"CI is set, so the Java members need a JDK: {reason}", pytrace=False)
        raise


def java_command(java: Path, class_path: str, group: Group, *properties: str) -> list[str]:
    """Return the command of a Java member with these properties (``name=value``)."""
    jvm = [str(java), "-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", class_path]
    return [*jvm, "GroupMember", group.bootstrap, group.group_id, group.topics[0], *properties]


def librdkafka_command(group: Group, properties: Mapping[str, object]) -> list[str]:
    """Return the command of a librdkafka member with these properties."""
    settings = {"bootstrap.servers": group.bootstrap, "group.id": group.group_id, **properties}
    program = "tests.integration.foreign.librdkafka_member"
    return [sys.executable, "-m", program, group.topics[0], json.dumps(settings)]
