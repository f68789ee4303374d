"""The Grafana dashboard over scrapes of a live exporter: every panel has figures, drawn in a browser.

Without Grafana: `tests.support.promql` evaluates the expressions, and plotly draws the results.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import pytest
from prometheus_client.parser import text_string_to_metric_families

from kafka_assignors.plan import TopicPartition
from kafka_assignors.report.drawing import figure
from kafka_assignors.report.page import html_page
from tests.integration.cli.exporter.process import exporter
from tests.integration.conftest import FreshNames
from tests.integration.demo.browser import WIDTH, Look, look_at, vivid_colours
from tests.integration.lagging import commit, write
from tests.support.examples import ROOT
from tests.support.promql import Labels, Scrape, Vector, evaluate

DASHBOARD = json.loads((ROOT / "docs" / "_static" / "grafana-lag.json").read_text(encoding="utf-8"))
PANELS: dict[str, dict[str, Any]] = {f"panel-{panel['id']}": panel for panel in DASHBOARD["panels"]}
SCRAPES, EVERY_S = 6, 15
"""The scrapes follow each other sooner, but count as so far apart."""
WRITTEN, READ = 60, 30
"""Records of a partition from scrape to scrape."""


@pytest.fixture(scope="module")
def scrapes(kafka_bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> list[Scrape]:
    """Scrape a live exporter while the lag of a group grows."""
    fresh = FreshNames(kafka_bootstrap)
    topic, group_id = fresh.topic(2), fresh.group()
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


def values(panel: dict[str, Any], scrapes: list[Scrape], at: float) -> dict[str, float]:
    """Return the value of each series of a panel, by its legend, as Grafana shows it with "All" chosen."""
    (target,) = panel["targets"]
    interval_s = int(4 * (scrapes[1].at - scrapes[0].at))
    variables = {"$cluster": ".*", "$group": ".*", "$__rate_interval": f"{interval_s}s"}
    expression = re.sub(r"\$\w+", lambda variable: variables[variable[0]], target["expr"])
    vector: Vector = evaluate(expression, scrapes, at)
    shown = {legend(target["legendFormat"], labels): value for labels, value in vector.items()}
    assert len(shown) == len(vector), f"{panel['title']}: series share a legend"
    return shown


def courses(panel: dict[str, Any], scrapes: list[Scrape]) -> dict[str, dict[float, float]]:
    """Return the course of each series: time in seconds -> value."""
    lines: dict[str, dict[float, float]] = {}
    for scrape in scrapes:
        for name, value in values(panel, scrapes, scrape.at).items():
            lines.setdefault(name, {})[scrape.at] = value
    return lines


def drawn(panel: dict[str, Any], scrapes: list[Scrape]) -> go.Figure:
    """Draw a panel: a number, or a line for each series."""
    if panel["type"] == "stat":
        ((name, value),) = values(panel, scrapes, scrapes[-1].at).items()
        return figure(go.Indicator(mode="number", value=value, title_text=name), height=180)
    lines = [
        go.Scatter(x=list(course), y=list(course.values()), name=name, mode="lines+markers")
        for name, course in courses(panel, scrapes).items()
    ]
    return figure(*lines, height=320, showlegend=True, xaxis_title_text="time (s)")


@pytest.fixture(scope="module")
def look(scrapes: list[Scrape], tmp_path_factory: pytest.TempPathFactory) -> Look:
    page: Path = tmp_path_factory.mktemp("dashboard") / "dashboard.html"
    text = html_page(
        "dashboard.html",
        "tests.integration.cli.exporter",
        figures={name: drawn(panel, scrapes) for name, panel in PANELS.items()},
        colours={},
        title=DASHBOARD["title"],
        panels={name: panel["title"] for name, panel in PANELS.items()},
    )
    page.write_text(text, encoding="utf-8")
    return look_at(page, 3000)


def last(title: str, scrapes: list[Scrape]) -> list[float]:
    """Return the last values of the panel with this title."""
    (panel,) = (panel for panel in PANELS.values() if panel["title"] == title)
    return sorted(values(panel, scrapes, scrapes[-1].at).values())


def test_panels_show_what_was_written_and_read(scrapes: list[Scrape]) -> None:
    lag = (WRITTEN - READ) * SCRAPES
    assert last("Exporter", scrapes) == [1]
    assert last("Groups left out", scrapes) == [0]
    assert last("Max lag by group", scrapes) == [lag]
    assert last("Sum of lag by group", scrapes) == last("Sum of lag by topic", scrapes) == [2 * lag]
    assert last("Records kept by topic", scrapes) == [2 * WRITTEN * SCRAPES]
    (oldest,) = last("Time lag by group", scrapes)
    assert oldest == last("Time lag by partition", scrapes)[-1]
    assert oldest > 0
    for title in ("Age of the figures", "Time of a reading"):
        (value,) = last(title, scrapes)
        assert value > 0


@pytest.mark.parametrize("every_s", [5, EVERY_S, 60])
def test_rates_do_not_depend_on_the_scrape_interval(scrapes: list[Scrape], every_s: int) -> None:
    pages = [Scrape(number * every_s, scrape.samples) for number, scrape in enumerate(scrapes)]
    assert last("Records read per second", pages) == [pytest.approx(2 * READ / every_s)]
    assert last("Records written per second", pages) == [pytest.approx(2 * WRITTEN / every_s)]


def test_every_panel_is_drawn_with_its_series(scrapes: list[Scrape], look: Look) -> None:
    assert look.failures == []
    assert set(look.page.texts) == set(PANELS)
    assert look.width <= WIDTH
    colours = {plot: vivid for plot, vivid, _ in vivid_colours(look)}
    for name, panel in PANELS.items():
        texts = look.page.texts[name]
        assert set(values(panel, scrapes, scrapes[-1].at)) <= set(texts), panel["title"]
        if panel["type"] == "stat":
            assert any(re.match(r"\d", text) for text in texts), panel["title"]
        else:
            lines = courses(panel, scrapes)
            assert look.page.points[name] == sum(map(len, lines.values())), panel["title"]
            assert colours[name], panel["title"]
