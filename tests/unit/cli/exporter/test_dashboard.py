"""The Grafana dashboard and the alerts use names and labels that the exporter has."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from kafka_assignors.cli.exporter.page import METRICS
from tests.support.examples import ROOT

STATIC = ROOT / "docs" / "_static"
DASHBOARD = json.loads((STATIC / "grafana-lag.json").read_text(encoding="utf-8"))
WORDS = {"absent", "and", "by", "max", "min", "or", "rate", "sum", "topk", "unless"}
"""Words of PromQL that the expressions use."""
LABELS = {name: {"cluster_name", *metric.labels} for name, metric in METRICS.items()} | {"up": {"job"}}
"""Labels of the exporter's metrics, and of Prometheus' own."""
OWNER = {"member_host", "consumer_id", "client_id"}


class Selector(NamedTuple):
    """A metric of an expression with the labels that select from it."""

    name: str
    labels: frozenset[str]


def selectors(expression: str) -> Iterator[Selector]:
    """Yield the metrics of a PromQL expression: all names that are no words of the language."""
    plain = re.sub(r"\bby \([^)]*\)|\[[^]]*\]|\boffset \d+[smhd]", "", expression)
    for name, matchers in re.findall(r"([a-zA-Z_:][\w:]*)(?:\{([^}]*)\})?", plain):
        if name not in WORDS:
            labels = re.findall(r'(\w+)\s*(?:=~|!~|!=|=)\s*"[^"]*"', matchers)
            yield Selector(name, frozenset(labels))


def grouping(expression: str) -> set[str]:
    """Return the labels of ``by (...)``."""
    return {
        label.strip() for group in re.findall(r"\bby \(([^)]*)\)", expression) for label in group.split(",")
    }


def check(expression: str) -> None:
    """Fail for an expression with a name or a label that the exporter does not have."""
    chosen = list(selectors(expression))
    assert chosen, expression
    for name, labels in chosen:
        assert name in LABELS, expression
        assert labels | grouping(expression) <= LABELS[name], expression


def targets() -> list[tuple[str, dict[str, Any]]]:
    return [(panel["title"], target) for panel in DASHBOARD["panels"] for target in panel["targets"]]


@pytest.mark.parametrize(
    ("title", "target"), targets(), ids=lambda value: value if type(value) is str else ""
)
def test_panel_uses_the_exporters_names_and_labels(title: str, target: dict[str, Any]) -> None:
    check(target["expr"])
    shown = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
    kept = grouping(target["expr"]) or {
        "cluster_name",
        *(label for name, _ in selectors(target["expr"]) for label in METRICS[name].labels),
    }
    assert shown <= kept, title
    assert "cluster_name" in shown & kept, f"{title}: merges equal names of different clusters"


def test_dashboard_shows_lag_in_time_and_records_rates_and_the_exporters_state() -> None:
    names = {name for _, target in targets() for name, _ in selectors(target["expr"])}
    assert names == METRICS.keys() - {"kafka_consumergroup_group_lag"}


def rates(expression: str) -> Iterator[str]:
    """Yield the argument of each ``rate(...)``."""
    for match in re.finditer(r"\brate\(", expression):
        depth, end = 1, match.end()
        while depth:
            depth += {"(": 1, ")": -1}.get(expression[end], 0)
            end += 1
        yield expression[match.end() : end - 1]


def test_rates_survive_a_change_of_owners() -> None:
    """A series with an owner's labels ends with its membership, before a rate of it is known.

    A rate of an aggregate is a subquery, whose default resolution may be longer than its window of four
    scrape intervals.
    """
    arguments = [argument for _, target in targets() for argument in rates(target["expr"])]
    assert len(arguments) == 2
    for argument in arguments:
        (selector,) = selectors(argument)
        if owner := LABELS[selector.name] & OWNER:
            match = re.fullmatch(r"max by \([^)]*\) \(\w+\{.*\}\)\[\$__rate_interval:5s\]", argument)
            assert match is not None, argument
            assert grouping(argument) == LABELS[selector.name] - owner


def test_variables_use_the_exporters_names_and_labels() -> None:
    variables = {variable["name"]: variable for variable in DASHBOARD["templating"]["list"]}
    assert variables["datasource"]["query"] == "prometheus"
    for name in ("cluster", "group"):
        query = variables[name]["query"]["query"]
        match = re.fullmatch(r"label_values\((.*), (\w+)\)", query)
        assert match is not None
        check(match[1])
        (selector,) = selectors(match[1])
        assert match[2] in {"cluster_name", *METRICS[selector.name].labels}
    used = set(re.findall(r"\$\{?(\w+)", json.dumps(DASHBOARD["panels"])))
    assert used == {*variables, "__rate_interval"}


def test_dashboard_has_the_shape_that_grafana_imports() -> None:
    assert DASHBOARD["schemaVersion"] >= 36
    assert DASHBOARD["title"]
    assert "id" not in DASHBOARD  # the database's; an import must not bring one
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    cells: set[tuple[int, int]] = set()
    for panel in panels:
        assert panel["type"] in {"stat", "timeseries"}
        assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
        assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        covered = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not covered & cells, panel["title"]
        cells |= covered


def test_alerts_use_the_exporters_names_and_labels() -> None:
    text = (STATIC / "lag-alerts.yaml").read_text(encoding="utf-8")
    alerts = re.split(r"- alert: \w+\n", text)[1:]
    assert len(alerts) == 5
    for alert in alerts:
        match = re.search(r"expr: (?:>-\n)?(.*?)\n +for:", alert, re.DOTALL)
        assert match is not None
        check(re.sub(r"\s+", " ", match[1]))


@pytest.mark.parametrize(
    "wrong",
    [
        "kafka_consumergroup_group_lags > 1",
        'kafka_consumergroup_group_sum_lag{topic="a"}',
        "sum by (partition) (kafka_consumergroup_group_sum_lag)",
        "1 + 2",
    ],
)
def test_check_finds_a_wrong_expression(wrong: str) -> None:
    with pytest.raises(AssertionError):
        check(wrong)
