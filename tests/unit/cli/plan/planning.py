"""Calls of ``kafka-assignors plan`` with a problem on its standard input, and small ones."""

from __future__ import annotations

import json
from typing import Any

from click.testing import CliRunner, Result

from kafka_assignors.cli.plan import command as cli_plan

TWO_AND_ONE_MORE: dict[str, Any] = {
    "version": 1,
    "strategy": "cooperative-sticky",
    "topics": {"orders": 6},
    "members": [
        {"id": "c1", "owned": [["orders", 0], ["orders", 1], ["orders", 2]], "generation": 5},
        {"id": "c2", "owned": [["orders", 3], ["orders", 4], ["orders", 5]], "generation": 5},
        {"id": "c3"},
    ],
}
IN_RACKS: dict[str, Any] = {
    "topics": {"orders": 4},
    "racks": {"orders": [["b"], ["a"], ["a", "b"]]},
    "members": [
        {"id": "c1", "rack": "a", "owned": [["orders", p] for p in range(4)], "generation": 5},
        {"id": "c2", "rack": "b"},
    ],
}
ACTIVE_AND_PASSIVE: dict[str, Any] = {
    "strategy": "failover",
    "topics": {"orders": 2, "audit": 1},
    "members": [
        {"id": "c1", "priority": 5, "owned": [["orders", 0], ["orders", 1]], "generation": 5},
        {"id": "c2", "priority": 10, "topics": ["orders"]},
        {"id": "c3", "priority": -1},
    ],
}


def call(*arguments: str, problem: object = TWO_AND_ONE_MORE, width: int = 80) -> Result:
    """Run the command with a problem on its standard input."""
    text = problem if isinstance(problem, str) else json.dumps(problem)
    words = ("--file", "-", *arguments)
    return CliRunner(env={"COLUMNS": str(width)}).invoke(cli_plan.command, words, input=text)


def planned(*arguments: str, problem: object = TWO_AND_ONE_MORE) -> Any:
    """The JSON it prints."""
    result = call(*arguments, "--output", "json", problem=problem)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def usage(*arguments: str, problem: object = TWO_AND_ONE_MORE) -> str:
    """The message of a usage error, in one line."""
    result = call(*arguments, problem=problem)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    return result.stderr.strip().splitlines()[-1]
