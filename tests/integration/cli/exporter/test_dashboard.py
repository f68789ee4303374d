"""The Grafana dashboard over scrapes of a live exporter: each panel has its series and figures.

Without Grafana: `tests.support.promql` evaluates the expressions.
"""

from __future__ import annotations

import json
import re
from typing import Any
from unittest.mock import ANY

import pytest
from prometheus_client.parser import text_string_to_metric_families

from kafka_assignors.plan import TopicPartition
from tests.integration.cli.exporter.process import exporter
from tests.integration.conftest import FreshNames
from tests.integration.lagging import commit, write
from tests.support.examples import ROOT
from tests.support.promql import Labels, Scrape, Vector, evaluate

DASHBOARD = json.loads((ROOT / "docs" / "_static" / "grafana-lag.json").read_text(encoding="utf-8"))
PANELS: dict[str, dict[str, Any]] = {panel["title"]: panel for panel in DASHBOARD["panels"]}
SCRAPES, EVERY_S = 6, 15
"""The scrapes follow each other sooner, but count as so far apart."""
WRITTEN, READ = 60, 30
"""Records of a partition from scrape to scrape."""


@pytest.fixture(scope="module")
def group_and_topic(kafka_bootstrap: str) -> tuple[str, str]:
    fresh = FreshNames(kafka_bootstrap)
    return fresh.group(), fresh.topic(2)


@pytest.fixture(scope="module")
def scrapes(
    kafka_bootstrap: str, group_and_topic: tuple[str, str], tmp_path_factory: pytest.TempPathFactory
) -> list[Scrape]:
    """Scrape a live exporter while the lag of a group grows."""
    group_id, topic = group_and_topic
    tps = [TopicPartition(topic, p) for p in range(2)]
    pages = []
    commit(kafka_bootstrap, group_id, dict.fromkeys(tps, 0))
    words = ("--bootstrap", kafka_bootstrap, "--interval", "1", "--groups", group_id, "--cluster-name", "c")
    with exporter(tmp_path_factory.mktemp("exporter"), *words) as running:
        for number in range(SCRAPES):
            write(kafka_bootstrap, dict.fromkeys(tps, WRITTEN))
            commit(kafka_bootstrap, group_id, dict.fromkeys(tps, READ * (number + 1)))
            lag = 2 * (WRITTEN - READ) * (number + 1)
            running.wait_for([lag], "kafka_consumergroup_group_sum_lag", group=group_id)
            families = text_string_to_metric_families(running.text())
            pages.append(Scrape(number * EVERY_S, [s for family in families for s in family.samples]))
    return pages


def legend(text: str, labels: Labels) -> str:
    """Return the text with the values of its labels; each must be there."""
    by_name = dict(labels)
    return re.sub(r"\{\{(\w+)\}\}", lambda label: by_name[label[1]], text)


def last_values(title: str, scrapes: list[Scrape]) -> dict[str, float]:
    """Return the last value of each series of a panel by its legend, as Grafana shows it for "All"."""
    (target,) = PANELS[title]["targets"]
    interval_s = int(4 * (scrapes[1].at - scrapes[0].at))
    variables = {"$cluster": ".*", "$group": ".*", "$__rate_interval": f"{interval_s}s"}
    expression = re.sub(r"\$\w+", lambda variable: variables[variable[0]], target["expr"])
    vector: Vector = evaluate(expression, scrapes, scrapes[-1].at)
    shown = {legend(target["legendFormat"], labels): value for labels, value in vector.items()}
    assert len(shown) == len(vector), f"{title}: series share a legend"
    return shown


def test_each_panel_shows_what_was_written_and_read(
    group_and_topic: tuple[str, str], scrapes: list[Scrape]
) -> None:
    group_id, topic = group_and_topic
    by_group, by_topic, by_both = f"c {group_id}", f"c {topic}", f"c {group_id} {topic}"
    lag = (WRITTEN - READ) * SCRAPES
    shown = {title: last_values(title, scrapes) for title in PANELS}
    assert shown == {
        "Exporter": {"c": 1},
        "Age of the figures": {"c": ANY},
        "Groups left out": {"c": 0},
        "Time of a reading": {"c": ANY},
        "Time lag by group": {by_group: max(shown["Time lag by partition"].values())},
        "Max lag by group": {by_group: lag},
        "Sum of lag by group": {by_group: 2 * lag},
        "Sum of lag by topic": {by_both: 2 * lag},
        "Records read per second": {by_group: ANY},
        "Records written per second": {by_topic: ANY},
        "Time lag by partition": {f"{by_both}-0": ANY, f"{by_both}-1": ANY},
        "Records kept by topic": {by_topic: 2 * WRITTEN * SCRAPES},
    }
    for title in ("Age of the figures", "Time of a reading", "Time lag by partition"):
        assert min(shown[title].values()) > 0, title


@pytest.mark.parametrize("every_s", [5, EVERY_S, 60])
def test_rates_do_not_depend_on_the_scrape_interval(scrapes: list[Scrape], every_s: int) -> None:
    pages = [Scrape(number * every_s, scrape.samples) for number, scrape in enumerate(scrapes)]
    assert [*last_values("Records read per second", pages).values()] == [pytest.approx(2 * READ / every_s)]
    assert [*last_values("Records written per second", pages).values()] == [
        pytest.approx(2 * WRITTEN / every_s)
    ]
