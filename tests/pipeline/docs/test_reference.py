"""The reference pages of the pipeline leave out no column or setting."""

from __future__ import annotations

import dataclasses
import inspect
import re

import click
import pytest

from kafka_assignors.cli.pipeline import command as pipeline
from kafka_assignors.forecast import LoadSettings
from kafka_assignors.lag.settings import SECURITY
from kafka_assignors.pipeline import connector
from kafka_assignors.pipeline.record import sampling
from kafka_assignors.pipeline.record.samples import record_samples
from kafka_assignors.pipeline.record.sampling import SamplerOptions
from kafka_assignors.pipeline.tables.schemas import LOAD, SAMPLES
from tests.support.examples import ROOT

PAGE, SAMPLING, CONNECTION = (
    (ROOT / "docs" / "reference" / f"{name}.md").read_text(encoding="utf-8")
    for name in ("pipeline", "sampling", "connection")
)


def rows(page: str, head: str) -> list[list[str]]:
    """Return the cells of the table that begins with ``head``, row by row."""
    table = page[page.index(head) :].partition("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


# --- pipeline.md -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("head", "schema"),
    [
        ("| column | type | |\n|---|---|---|\n| `time` |", SAMPLES),
        ("| column | type | |\n|---|---|---|\n| `time`, `step_s` |", LOAD),
    ],
)
def test_docs_list_the_columns_of_the_files(head: str, schema: str) -> None:
    """The table has the types, too; a row of several key columns has their type once."""
    columns = dict(re.findall(r"^\s*(\w+) (\w+)", schema, re.MULTILINE))
    listed: dict[str, str] = {}
    for cell, types, _ in rows(PAGE, head):
        names = re.findall(r"`(\w+)`", cell)
        kinds = types.split(", ") if types else [columns[name] for name in names]
        listed |= dict(zip(names, kinds * len(names) if len(kinds) == 1 else kinds, strict=True))
    assert listed == columns


# --- sampling.md -------------------------------------------------------------------------------------------


def test_docs_have_the_arguments_of_record_samples() -> None:
    given = inspect.signature(record_samples).parameters
    assert f"`every_s` ({given['every_s'].default:g})" in SAMPLING
    for name in ("groups_like", "topics_like", "every_s", "timeout_s"):
        assert name in given
        assert name in SAMPLING


def test_docs_have_the_options_of_the_source() -> None:
    paragraph = SAMPLING[SAMPLING.index("Options: `groups`") :].partition("\n\n")[0]
    assert re.findall(r"`(\w+)`", paragraph) == list(sampling._OPTIONS)
    by_default = SamplerOptions.from_options({"groups": '["g"]'})
    assert f"`every` and `timeout` (seconds, {by_default.every_s:g} each)" in paragraph
    assert by_default.every_s == by_default.timeout_s
    assert f"`num_partitions` (tasks that share the groups, {by_default.num_partitions})" in paragraph


def test_docs_have_every_setting_of_the_connector() -> None:
    section = CONNECTION[CONNECTION.index("## Settings for Spark's Kafka connector") :]
    elsewhere = {"security_protocol", "sasl_mechanism"}  # as in Kafka, without a row
    for name in set(SECURITY) - connector._UNMAPPED.keys() - elsewhere:
        assert re.search(rf"^\|[^|]*`{name}[`=]", section, re.MULTILINE), name
    for mechanism in connector._LOGIN:
        assert mechanism.partition("-")[0] in section
    for name in re.findall(r"`(sasl_\w+)`", section.partition("Revocation lists")[2]):
        assert name in connector._UNMAPPED


# --- the load model --------------------------------------------------------------------------------------


def test_docs_have_the_settings_of_the_model() -> None:
    documented = {cell.strip("`"): default for cell, default, _ in rows(PAGE, "| setting | default |")}
    settings = {setting.name: setting.default for setting in dataclasses.fields(LoadSettings) if setting.init}
    assert documented.keys() == settings.keys()
    for name, default in settings.items():
        if default is not None:
            assert documented[name] == (f"`{default}`" if isinstance(default, str) else f"{default:g}"), name
    for step_s in (60.0, 900.0):
        ten_minutes, _, three = documented["max_gap_s"].partition(", or ")
        assert three == "three steps"
        assert LoadSettings(step_s=step_s).max_gap == 1e6 * max(float(ten_minutes), 3 * step_s)


def test_defaults_of_a_run_are_those_of_the_model() -> None:
    known = run_options()
    for name in ("step", "horizon", "delay", "reset", "zone"):
        field = name if name in ("reset", "zone") else f"{name}_s"
        assert known[f"--{name}"].default == getattr(LoadSettings(), field)


def run_options() -> dict[str, click.Option]:
    group = pipeline.command
    assert isinstance(group, click.Group)
    run = group.commands["run"]
    return {name: option for option in run.params if isinstance(option, click.Option) for name in option.opts}
