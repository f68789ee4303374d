"""The pages of `plan`: examples print what they show, tables are complete."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable
from pathlib import Path

import pytest
from click.testing import CliRunner

from kafka_assignors.cli.fields import parsed_json
from kafka_assignors.cli.plan import command as cli_plan
from kafka_assignors.cli.plan.problem import parse_problem
from kafka_assignors.errors import OptionError, ProblemError
from kafka_assignors.lag.connection import connection_settings, read_properties
from kafka_assignors.plan import Reason
from tests.support.examples import ROOT

PAGE, CONNECTION = (
    (ROOT / "docs" / "reference" / f"{name}.md").read_text(encoding="utf-8")
    for name in ("plan", "connection")
)


def blocks(kind: str, page: str = PAGE) -> list[str]:
    """The fenced blocks of a kind."""
    return re.findall(rf"^```{kind}\n(.*?)^```", page, re.DOTALL | re.MULTILINE)


def assert_in_table(names: Iterable[str], table: str) -> None:
    """Fail for a name that no row of a table explains."""
    assert names
    for name in names:
        assert re.search(rf"^\|[^|]*`{re.escape(name)}`[^|]*\|", table, re.MULTILINE), name


def known(error: pytest.ExceptionInfo[Exception]) -> list[str]:
    """Return the known names that an error about an unknown one lists."""
    return re.split("choose one of |expected one of ", str(error.value))[1].split(", ")


@pytest.mark.parametrize("block", blocks("console"), ids=lambda block: block.splitlines()[0])
def test_commands_print_the_output_on_the_page(
    block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    named = re.compile(r"^`(\w+\.json)`: [^\n]*\n\n```json\n(.*?)^```", re.DOTALL | re.MULTILINE)
    for name, problem in named.findall(PAGE):
        Path(name).write_text(problem, encoding="utf-8")
    command, *shown = block.splitlines()
    words = shlex.split(command.removeprefix("$ kafka-assignors plan"))
    done = CliRunner(env={"COLUMNS": "80"}).invoke(cli_plan.command, words)
    assert done.exit_code == 0
    assert [line.rstrip() for line in done.output.splitlines()] == shown


def test_readme_example_can_be_pasted() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    ((words, problem),) = re.findall(
        r"^kafka-assignors plan ([^\n]*) <<'END'\n(.*?)^END$", text, re.DOTALL | re.MULTILINE
    )
    done = CliRunner().invoke(cli_plan.command, shlex.split(words), input=problem)
    assert (done.exit_code, done.stderr) == (0, "")
    assert "3 members, 12 partitions of 2 topics" in done.stdout


def test_every_field_is_on_the_page() -> None:
    with pytest.raises(ProblemError) as top:
        parse_problem({"?": 0})
    with pytest.raises(ProblemError) as members:
        parse_problem({"members": [{"?": 0}]})
    table = PAGE[PAGE.index("## A group in a file") : PAGE.index("## Lag")]
    assert_in_table({*known(top)} - {"members"} | {f"members[].{name}" for name in known(members)}, table)


def test_every_problem_on_the_page_is_named_and_valid() -> None:
    problems = blocks("json")
    assert len(problems) == len(re.findall(r"^`\w+\.json`: ", PAGE, re.MULTILINE)) == 2
    assert all(parse_problem(parsed_json(problem.encode())).group.members for problem in problems)


def test_every_field_of_the_answer_is_on_the_page() -> None:
    """Whatever the problem has: lag, racks, rounds."""
    fields = set()
    for extra in ({}, {"racks": {"t": [["a"]]}}, {"lags": {"t": [1]}, "strategy": "lag-aware"}):
        problem = {"topics": {"t": 1}, "members": [{"id": "c1", "rack": "a"}], **extra}
        words = ["--file", "-", "--output", "json"]
        found = json.loads(CliRunner().invoke(cli_plan.command, words, input=json.dumps(problem)).stdout)
        fields |= {name for name in found if name != "metrics"} | {f"metrics.{m}" for m in found["metrics"]}
    assert_in_table(fields, PAGE)


def test_every_reason_is_on_the_page() -> None:
    assert_in_table([reason.value for reason in Reason], PAGE[PAGE.index("| reason | meaning |") :])


def test_every_security_setting_is_on_the_page() -> None:
    with pytest.raises(OptionError) as error:
        connection_settings("h:1", {"ssl.x": ""}, {})
    assert len(known(error)) > 10
    for name in known(error):
        assert f"`{name}`" in CONNECTION, name


def test_example_properties_are_valid_apart_from_a_local_file() -> None:
    (text,) = blocks("properties", CONNECTION)
    secret = {"KAFKA_ASSIGNORS_SASL_PLAIN_PASSWORD": "x"}
    with pytest.raises(OptionError, match=r"no readable file '/etc/ssl/kafka-ca\.pem'"):
        connection_settings(None, read_properties(text), secret)
    assert connection_settings(None, read_properties(text.replace("ssl.cafile", "x")), secret)
