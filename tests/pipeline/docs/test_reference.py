"""The reference pages of the sampler and the connector leave out no setting."""

from __future__ import annotations

import re

import click

from kafka_assignors.cli.pipeline import command as pipeline
from kafka_assignors.forecast import LoadSettings
from kafka_assignors.lag.settings import SECURITY
from kafka_assignors.pipeline import connector
from kafka_assignors.pipeline.record import sampling
from kafka_assignors.pipeline.record.sampling import SamplerOptions
from tests.support.examples import ROOT

SAMPLING, CONNECTION = (
    (ROOT / "docs" / "reference" / f"{name}.md").read_text(encoding="utf-8")
    for name in ("sampling", "connection")
)


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
