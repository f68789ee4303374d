"""The report as text: what is drawn from which numbers.  A browser looks at it in the integration tests."""

from __future__ import annotations

import copy
import importlib.util
import io
import itertools
import json
import re
from html import escape
from typing import Literal

import pytest
from rich.console import Console
from rich.table import Table

from demo.figures.drain import measure_drain
from demo.figures.measure import measure
from demo.report import render
from demo.report import replay_figures as figures
from demo.results import VERSION, Results
from demo.view.table import DRAIN_ROWS, ROWS, summary
from kafka_assignors.errors import MissingExtraError
from kafka_assignors.report import page
from kafka_assignors.report.drawing import Figure
from kafka_assignors.report.palette import MEMBERS, STRATEGIES, member_colour, strategy_colour
from tests.unit.demo.failover.story import failover
from tests.unit.demo.pipeline.runs import pipeline
from tests.unit.demo.story import SMALL_REPLAY, eager_join, uneven_backlog


@pytest.fixture
def results() -> Results:
    """Two strategies in each scene, the second with another name only."""
    one = measure("range", eager_join())
    other = copy.deepcopy(one)
    other["strategy"] = "cooperative-sticky"
    drain = measure_drain("range", uneven_backlog(), work_ms=100)
    other_drain = copy.deepcopy(drain)
    other_drain["strategy"] = "cooperative-lag-aware"
    return {
        "version": VERSION,
        "started": "2026-01-02T03:04:05+00:00",
        "dataset": "by hand",
        "settings": SMALL_REPLAY,
        "seconds": {"replay": 100.4, "backlog": 60.0},
        "strategies": [one, other],
        "backlog": [drain, other_drain],
        "failover": None,
        "pipeline": None,
    }


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "plotly_js", lambda: "/* plotly */")


def drawn(text: str) -> dict[str, Figure]:
    found = re.search(r"const figures = (.*?);\nconst config", text, re.DOTALL)
    assert found is not None
    read: dict[str, Figure] = json.loads(found.group(1))
    return read


def test_the_page_holds_every_figure_where_it_is_drawn(results: Results) -> None:
    text = render(results)
    wanted = ["answer", "ownership-0", "lag-0", "ownership-1", "lag-1", "pauses", "moves"]
    wanted += ["drain-times", "largest-lag", "loads", "backlog-lag-0", "backlog-lag-1"]
    assert sorted(drawn(text)) == sorted(wanted)
    for name in wanted:
        assert f'id="{name}"' in text


def test_the_table_has_every_row_with_its_meaning(results: Results) -> None:
    text = render(results)
    for label, meaning in [(r.label, r.meaning) for r in ROWS] + [(r.label, r.meaning) for r in DRAIN_ROWS]:
        assert label in text
        assert escape(meaning) in text
        assert meaning.endswith(".")


def test_nothing_is_loaded_from_elsewhere(results: Results) -> None:
    assert not re.search(r"(src|href)=|@import|url\(", render(results))


def test_names_cannot_break_out_of_the_page(results: Results) -> None:
    results["strategies"][0]["strategy"] = "</script><b>"
    text = render(results)
    markup = re.sub("const figures = .*", "", text)
    assert "<b>" not in markup
    assert text.count("</script>") == 2


def test_the_band_shows_owners_gaps_warm_ups_and_waits(results: Results) -> None:
    figure = figures.ownership(results["strategies"][0], 2, [-1.0, 11.0])
    traces = {trace["name"]: trace for trace in figure["data"]}
    assert list(traces) == ["no owner", "m1", "m2", "warming up", "waiting"]
    assert traces["no owner"]["base"] == [3.1, 3.1]
    assert traces["m2"] | {"x": [6.5], "base": [3.5], "y": [1]} == traces["m2"]
    assert traces["waiting"]["x"] == [1.6, 1.0]
    assert [note["text"] for note in figure["layout"]["annotations"]] == ["m2 joins"]


def test_strategies_share_their_axes(results: Results) -> None:
    results["strategies"][1]["end"] = 30.0
    results["strategies"][1]["peak_lag"] = 500
    results["backlog"][1]["drain"] = 9.9
    drawings = drawn(render(results))
    assert drawings["backlog-lag-0"]["layout"]["xaxis"] == drawings["backlog-lag-1"]["layout"]["xaxis"]
    for kind in ("ownership", "lag"):
        first, second = (drawings[f"{kind}-{place}"]["layout"] for place in (0, 1))
        assert first["xaxis"]["range"] == second["xaxis"]["range"] == [-1.0, 31.0]
        assert first["yaxis"]["range"] == second["yaxis"]["range"]


def test_every_axis_has_a_title_with_its_unit(results: Results) -> None:
    of_strategies = {("answer", "yaxis"), ("drain-times", "yaxis"), ("loads", "xaxis")}
    for name, figure in drawn(render(results)).items():
        for axis in ("xaxis", "yaxis"):
            titled = bool(figure["layout"][axis].get("title", {}).get("text"))
            assert titled == ((name, axis) not in of_strategies), name


def test_one_strategy_without_churn_is_drawn_too(results: Results) -> None:
    del results["strategies"][1]
    one = results["strategies"][0]
    one["steps"], one["pauses"], one["waits"], one["handovers"] = [], [], [], []
    assert "nothing happens to it" in render(results)


def test_the_terminals_table_has_a_column_a_strategy(results: Results) -> None:
    replay, backlog, *_ = summary(results).renderables
    assert isinstance(replay, Table)
    assert [str(column.header) for column in replay.columns] == ["", "range", "cooperative-sticky"]
    assert replay.row_count == len(ROWS)
    assert isinstance(backlog, Table)
    assert [str(cell) for cell in backlog.columns[0].cells] == ["range", "cooperative-lag-aware"]


def test_the_terminals_tables_fit_80_columns_and_cut_nothing(results: Results) -> None:
    out = io.StringIO()
    Console(file=out, width=80).print(summary(results))
    assert "…" not in out.getvalue()
    [line] = [
        line for line in out.getvalue().splitlines() if "cooperative-lag-aware" in line and "2.00" in line
    ]
    assert line.split() == ["cooperative-lag-aware", "6.0", "s", "3.0", "s", "2.00", "40", "1", "1", "0"]


def test_a_backlog_that_was_not_drained_has_no_drain_time(results: Results) -> None:
    results["backlog"][0]["fault"] = "not drained within 4 s"
    out = io.StringIO()
    Console(file=out, width=80).print(summary(results))
    [line] = [
        line
        for line in out.getvalue().splitlines()
        if line.startswith((" range", "range")) and "3.0 s" in line
    ]
    assert line.split() == ["range", "unfinished", "3.0", "s", "-", "40", "1", "1", "0"]
    assert "range was not drained within 4 s." in render(results)


@pytest.mark.parametrize(("kept", "gone"), [("strategies", "backlog"), ("backlog", "strategies")])
def test_one_scene_alone_is_a_page_of_its_own(
    results: Results, kept: Literal["strategies", "backlog"], gone: Literal["strategies", "backlog"]
) -> None:
    both = drawn(render(results))
    results[gone].clear()
    alone = drawn(render(results))
    assert alone
    assert {name for name in both if ("ownership" in name) == (kept == "strategies")} & set(alone)
    assert sum(isinstance(part, Table) for part in summary(results).renderables) == 1
    assert render(results).count("<article>") == 2  # the answer, and the scene


def test_a_strategy_has_one_colour_in_both_scenes(results: Results) -> None:
    results["backlog"].reverse()
    drawings = drawn(render(results))
    bars = drawings["drain-times"]["data"][0]
    assert bars["y"] == ["cooperative-lag-aware", "range"]
    assert bars["marker"]["color"] == [strategy_colour(2), strategy_colour(0)]
    assert drawings["moves"]["data"][0]["line"]["color"] == strategy_colour(0)
    assert drawings["largest-lag"]["data"][1]["line"]["color"] == strategy_colour(0)


def test_each_step_has_a_row_a_strategy_and_empty_is_a_dash(results: Results) -> None:
    step = results["strategies"][1]["steps"][0]
    step["paused"], step["pause_total"], step["pause_p50"], step["pause_max"] = 0, 0.0, None, None
    text = render(results)
    table = text[text.index('<table class="steps">') : text.index("<h2>Who owned what")]
    assert table.count("<tr") == 1 + len(results["strategies"])
    cells = [re.findall(r"<td>(.*?)</td>", row) for row in table.split("<tr")[2:]]
    assert cells[0][4:] == ["2 of 2", "2.6 s", "1.30 s", "1.60 s"]
    assert cells[1][4:] == ["0 of 2", "0.0 s", "-", "-"]


def test_the_rhythm_of_the_data_is_named_only_where_it_can_be_seen(results: Results) -> None:
    results["settings"]["duration"] = 60
    assert "fine comb" in render(results)
    for speed in (
        600,
        1_000_000,
    ):  # a day of 144 s in a replay of 60 s; one of 0.09 s, faster than the samples
        results["settings"]["speed"] = speed
        assert "fine comb" not in render(results)


def test_lateness_and_a_fault_are_in_the_method(results: Results) -> None:
    results["backlog"].clear()
    assert "At the end everything was processed and committed" in render(results)
    results["strategies"][0]["fault"] = "not drained within 90 s"
    text = render(results)
    assert "range was not drained within 90 s." in text
    assert "everything was processed and committed" not in text
    assert "range 12 ms, cooperative-sticky 12 ms" in text


def test_ten_strategies_and_32_members_have_colours_that_can_be_told_apart() -> None:
    for colours in (
        [member_colour(f"m{number}") for number in range(1, 33)],
        [strategy_colour(place) for place in range(10)],
    ):
        assert min(distance(*pair) for pair in itertools.combinations(colours, 2)) > 45
    assert member_colour("m33") == MEMBERS[0]
    assert strategy_colour(10) == STRATEGIES[0]


def distance(one: str, other: str) -> float:
    """Weighted by how well eyes see the channels ("redmean"); black and white are 765 apart."""
    first, second = (tuple(int(c[place : place + 2], 16) for place in (1, 3, 5)) for c in (one, other))
    red = (first[0] + second[0]) / 2
    r, g, b = ((x - y) ** 2 for x, y in zip(first, second, strict=True))
    return float(((2 + red / 256) * r + 4 * g + (2 + (255 - red) / 256) * b) ** 0.5)


def test_a_missing_plotly_is_found_before_anything_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"plotly.*kafka-assignors\[demo\]"):
        page.require_plotly("demo")


def test_with_many_strategies_the_meanings_stand_below_the_table(results: Results) -> None:
    results["backlog"].clear()
    results["strategies"] = [copy.deepcopy(results["strategies"][0]) for _ in range(10)]
    for place, one in enumerate(results["strategies"]):
        one["strategy"] = f"strategy-{place}"
    text = render(results)
    assert "what it means" not in text
    assert all(text.count(row.meaning) == 1 for row in ROWS)


# --- the failover -----------------------------------------------------------------------------------------


def test_the_failover_has_a_part_and_a_figure_of_its_own(results: Results) -> None:
    before = drawn(render(results))
    results["failover"] = failover()
    text = render(results)
    assert drawn(text).keys() - before.keys() == {"still"}
    assert text.count("<article>") == 4
    assert "How long a stateful group stands still: 6.8 s with standbys, 8.5 s without" in text
    assert "The counts of all 3 carriers and 5 destinations equal those by Spark" in text


def test_cold_stands_beside_warm_event_by_event(results: Results) -> None:
    results["failover"] = failover()
    text = render(results)
    part = text[text.index("The failover") :]
    table = part[part.index("<h2>In figures") : part.index("<h2>Task by task")]
    rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in table.split("<tr>")[2:]]
    assert [row[0] for row in rows] == ["One joins", "", "One is killed with -9", ""]
    assert [re.sub("<.*?>", "", row[1]) for row in rows] == ["cold", "warm", "cold", "warm"]
    assert [row[2] for row in rows] == ["2.60&nbsp;s", "0.80&nbsp;s", "8.50&nbsp;s", "6.80&nbsp;s"]


def test_each_task_has_a_bar_an_event_and_those_that_stayed_are_paler(results: Results) -> None:
    results["failover"] = failover()
    figure = drawn(render(results))["still"]
    bars = [(bar["name"], bar["xaxis"], bar["y"]) for bar in figure["data"]]
    assert bars[:2] == [("cold", "x", [2.6, 0.8]), ("with standbys and warm-ups", "x", [0.8, 0.5])]
    assert [axis for _, axis, _ in bars] == ["x", "x", "x2", "x2"]
    assert all(bar["marker"]["opacity"][0] > bar["marker"]["opacity"][1] for bar in figure["data"])
    said = [note["text"] for note in figure["layout"]["annotations"]]
    assert said == ["one joins", "one is killed with -9 (broken: the session timeout, 6 s)"]


def test_the_failovers_table_fits_80_columns(results: Results) -> None:
    results["failover"] = failover()
    results["strategies"].clear()
    results["backlog"].clear()
    text = in_terminal(results, width=80)
    assert "…" not in text
    [line] = [line for line in text.splitlines() if "kill -9 m3, warm" in line]
    assert line.split()[4:] == ["6.80", "s", "2.00", "s", "1.65", "s", "1", "220", "7", "6.5", "s", "1"]
    assert "One joins: the longest" in text


def test_a_failover_that_was_not_drained_and_counted_wrong_says_so(results: Results) -> None:
    result = failover()
    result["fault"] = "not drained within <9> s"
    result["counts"]["differences"] = ["carrier <AA>: 5 counted, 6 in the topic"]
    results["failover"] = result
    text = render(results)
    assert "<b>not drained within &lt;9&gt; s</b>" in text
    assert "<li>carrier &lt;AA&gt;: 5 counted, 6 in the topic</li>" in text


def test_a_failover_that_ended_early_is_drawn_as_far_as_it_came(results: Results) -> None:
    result = failover()
    result["events"].clear()
    results["failover"] = result
    assert "How long a stateful group stands still" in render(results)
    assert drawn(render(results))["still"]["data"] == []
    assert sum(isinstance(part, Table) for part in summary(results).renderables) == 3


# --- the pipeline -----------------------------------------------------------------------------------------


def with_pipeline(results: Results, *candidates: str) -> Results:
    results["backlog"][0]["strategy"], results["pipeline"] = "range", pipeline(*candidates)
    return results


def in_terminal(results: Results, width: int = 100) -> str:
    out = io.StringIO()
    Console(file=out, width=width).print(summary(results))
    return out.getvalue()


def test_the_pipeline_has_a_part_and_figures_of_its_own(results: Results) -> None:
    before = drawn(render(results))
    text = render(with_pipeline(results))
    assert text.count("<article>") == 4
    assert "What the pipeline recommends: use cooperative-lag-aware (load=forecast)" in text
    assert drawn(text).keys() - before.keys() == {"lag-tried-0", "time-lag-tried-0", "hours"}


def test_what_was_recorded_is_a_row_a_run(results: Results) -> None:
    text = render(with_pipeline(results))
    table = text[text.index("<h2>Recorded") : text.index("<h2>Recommendation")]
    assert re.findall(r"<td>(.*?)</td>", table) == ["1,234", "56", "50", "50", "42"]


def test_simulated_stands_beside_measured(results: Results) -> None:
    text = render(with_pipeline(results))
    table = text[text.index("<h2>Simulated, and measured") : text.index("<h2>What will come")]
    assert re.findall(r"<td>(.*?)</td>", table) == ["6.0 s", "6.6 s", "+10 %", "0", "0", "0 %"]
    assert "6.6 s" in in_terminal(results)


def test_a_run_without_a_simulation_says_why(results: Results) -> None:
    result = pipeline()
    result["calibration"][0] |= {
        "drain_simulated": None,
        "moved_simulated": None,
        "note": "<nobody> was busy",
    }
    results["pipeline"] = result
    assert "&lt;nobody&gt; was busy" in render(results)
    [line] = [line for line in in_terminal(results).splitlines() if "backlog, range" in line]
    assert line.split()[2:] == ["6.0", "s", "-", "-", "0", "-", "-"]


def test_strategies_keep_their_colours_and_other_candidates_get_free_ones(results: Results) -> None:
    names = ("sticky", "range", "cooperative-lag-aware", "fair")
    lines = drawn(render(with_pipeline(results, *names)))["lag-tried-0"]["data"]
    colours = {line["name"]: line["line"]["color"] for line in lines}
    assert colours["range"] == strategy_colour(0)
    assert colours["cooperative-lag-aware"] == strategy_colour(2)
    assert len(set(colours.values())) == 5  # of four candidates, and grey of what was recorded


def test_the_forecasts_are_drawn_beside_what_came(results: Results) -> None:
    figure = drawn(render(with_pipeline(results)))["hours"]
    came, naive, forecast = figure["data"]
    assert came["x"] == ["2013-01-01 00:00", "2013-01-01 01:00", "2013-01-01 02:00"]
    assert (came["y"], naive["y"], forecast["y"]) == ([1, 2, 3], [0, 1, 2], [1.5, 2.0, 2.5])


def test_a_pipeline_that_failed_says_so_and_shows_what_it_had(results: Results) -> None:
    failed = pipeline() | {
        "fault": "back-test: <gone>",
        "backtest": None,
        "calibration": [],
        "forecast": None,
    }
    results["pipeline"] = failed
    text = render(results)
    assert "It failed. back-test: &lt;gone&gt;" in text
    assert "<h2>Recorded" in text
    assert "<h2>Recommendation" not in text
    assert "1,234 commits" in in_terminal(results)
    results["pipeline"] = failed | {"recorded": []}
    assert "<h2>Recorded" not in render(results)
    assert sum(isinstance(part, Table) for part in summary(results).renderables) == 2


def test_the_terminal_shows_candidates_runs_forecasts_and_what_to_use(results: Results) -> None:
    text = in_terminal(with_pipeline(results))
    assert "…" not in text
    lines = text.splitlines()
    assert max(map(len, lines)) <= 100
    [line] = [line for line in lines if "sticky" in line and " 3 " in line]
    assert line.split() == ["3", "sticky", "6.0", "50", "5.0", "1", "0.2"]
    assert "47 hours of 336" in text
    assert "the pipeline recommends: Use cooperative-lag-aware (load=forecast)" in text
    assert "…" not in in_terminal(results, width=80)


def test_a_step_that_paused_nothing_has_its_place_on_the_axis(results: Results) -> None:
    for one in results["strategies"]:
        one["pauses"] = []
    axis = drawn(render(results))["pauses"]["layout"]["xaxis"]
    steps = len(results["strategies"][0]["steps"])
    assert steps > 0
    assert (axis["type"], axis["range"], len(axis["categoryarray"])) == (
        "category",
        [-0.5, steps - 0.5],
        steps,
    )
