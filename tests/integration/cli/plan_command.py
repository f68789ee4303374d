"""Runs ``kafka-assignors plan`` on live groups."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

from tests.integration.members import Group, Member, Owned, about
from tests.support.command_line import refused_command, run_command

run = partial(run_command, "plan")


def plan(group: Group, *words: str) -> Any:
    """The JSON printed for a live group; stderr has at most a note on assumed options."""
    done = run("--group", group.group_id, "--bootstrap", group.bootstrap, "--output", "json", *words)
    message = [line for line in done.stderr.splitlines() if "the group's options are unknown" not in line]
    assert (done.returncode, message) == (0, [])
    return json.loads(done.stdout)


def refused(bootstrap: str, group_id: str, *words: str) -> str:
    """Return the line of the command's error."""
    return refused_command("plan", "--group", group_id, "--bootstrap", bootstrap, *words)


def as_planned(owned: Owned, members: Mapping[str, Member]) -> dict[str, list[list[object]]]:
    """The members' partitions, in the form of a plan."""
    return {
        about(members[name], "member_id"): [list(tp) for tp in sorted(tps)] for name, tps in owned.items()
    }
