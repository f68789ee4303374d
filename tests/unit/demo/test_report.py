"""The report as text: what is drawn from which numbers.  A browser looks at it in the integration tests."""

from __future__ import annotations

import copy
import io
from typing import Any, Literal

import pytest
from rich.console import Console
from rich.table import Table

from demo.figures.drain import measure_drain
from demo.figures.measure import measure
from demo.report import render
from demo.results import Results
from demo.view.answer import answer
from demo.view.table import DRAIN_ROWS, ROWS, summary
from kafka_assignors.report import page
from kafka_assignors.report.palette import strategy_colour
from tests.unit.demo.failover.story import failover
from tests.unit.demo.pipeline.runs import pipeline
from tests.unit.demo.story import eager_join, results_of, uneven_backlog
from tests.unit.report.reading import cells_of, figures_of, markup_of, section_of, text_of


@pytest.fixture
def results() -> Results:
    """Two strategies in each scene, the second with another name only."""
    one = measure("range", eager_join())
    other = copy.deepcopy(one)
    other["strategy"] = "cooperative-sticky"
    drain = measure_drain("range", uneven_backlog(), work_ms=100)
    other_drain = copy.deepcopy(drain)
    other_drain["strategy"] = "cooperative-lag-aware"
    return results_of([one, other], [drain, other_drain])


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "plotly_js", lambda: "/* plotly */")


def drawn(results: Results) -> dict[str, Any]:
    return figures_of(render(results))


def test_page_has_an_element_for_every_figure(results: Results) -> None:
    text = render(results)
    wanted = ["answer-drain", "answer-standstill", "ownership-0", "lag-0", "ownership-1", "lag-1"]
    wanted += ["largest-lag", "backlog-lag-0", "backlog-lag-1"]
    assert sorted(figures_of(text)) == sorted(wanted)
    for name in wanted:
        assert text.count(f'id="{name}"') == 1


def test_table_has_every_row_with_its_meaning(results: Results) -> None:
    text = text_of(render(results))
    for label, meaning in [(r.label, r.meaning) for r in ROWS] + [(r.label, r.meaning) for r in DRAIN_ROWS]:
        assert label in text
        assert meaning in text
        assert meaning.endswith(".")


def test_names_cannot_break_out_of_the_page(results: Results) -> None:
    results["strategies"][0]["strategy"] = "</script><b>"
    text = render(results)
    assert "<b>" not in markup_of(text)
    assert text.count("</script>") == 2


# --- the answer -------------------------------------------------------------------------------------------


def test_page_opens_with_the_answer_its_reasons_and_its_picture(results: Results) -> None:
    text, advice = render(results), answer(results)
    first = text_of(text.partition("</article>")[0])
    assert first.index(advice.headline) < min(first.index(sentence) for sentence in advice.sentences)
    assert "replay 100 s" in first
    drain, stop = (figures_of(text)[f"answer-{panel}"] for panel in ("drain", "standstill"))
    assert drain["data"][0]["text"] == ["6.0 s", "6.0 s"]
    assert drain["layout"]["shapes"][0]["x0"] == 3.0
    assert "dotted: lower bound, 3.0 s" in first
    assert stop["data"][0]["text"] == ["1.3 s<br>1 moves"] * 2
    labels = [*drain["data"][0]["y"], *stop["data"][0]["y"]]
    assert {label[3:-4] for label in labels if label.startswith("<b>")} == advice.chosen


# --- the replay and the backlog ---------------------------------------------------------------------------


def test_band_shows_owners_gaps_warm_ups_and_waits(results: Results) -> None:
    figure = drawn(results)["ownership-0"]
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
    drawings = drawn(results)
    assert drawings["backlog-lag-0"]["layout"]["xaxis"] == drawings["backlog-lag-1"]["layout"]["xaxis"]
    for kind in ("ownership", "lag"):
        first, second = (drawings[f"{kind}-{place}"]["layout"] for place in (0, 1))
        assert first["xaxis"]["range"] == second["xaxis"]["range"] == [-1.0, 31.0]
        assert first["yaxis"]["range"] == second["yaxis"]["range"]


def test_every_axis_has_a_title_with_its_unit(results: Results) -> None:
    for name, figure in drawn(results).items():
        for axis in ("xaxis", "yaxis"):
            titled = bool(figure["layout"][axis].get("title", {}).get("text"))
            assert titled == (not (name.startswith("answer") and axis == "yaxis")), name


def test_largest_lag_stands_beside_that_of_an_optimal_plan(results: Results) -> None:
    lines = {line["name"]: line for line in drawn(results)["largest-lag"]["data"]}
    assert (lines["range"]["x"][0], lines["range"]["y"][0]) == (0.0, 40)
    assert (lines["lower bound"]["x"], lines["lower bound"]["y"]) == ([0.0, 3.0], [30, 0])


def test_one_strategy_without_churn_is_drawn_too(results: Results) -> None:
    del results["strategies"][1]
    one = results["strategies"][0]
    one["steps"], one["waits"] = [], []
    assert "The group does not change." in text_of(render(results))
    assert "answer-standstill" not in drawn(results)


def test_terminal_table_has_a_column_a_strategy(results: Results) -> None:
    replay, backlog, *_ = summary(results).renderables
    assert isinstance(replay, Table)
    assert [str(column.header) for column in replay.columns] == ["", "range", "cooperative-sticky"]
    assert replay.row_count == len(ROWS)
    assert isinstance(backlog, Table)
    assert [str(cell) for cell in backlog.columns[0].cells] == ["range", "cooperative-lag-aware"]


def in_terminal(results: Results, width: int = 80) -> str:
    out = io.StringIO()
    Console(file=out, width=width).print(summary(results))
    return out.getvalue()


def test_terminal_tables_fit_80_columns_and_cut_nothing(results: Results) -> None:
    text = in_terminal(results)
    assert "…" not in text
    [line] = [line for line in text.splitlines() if "cooperative-lag-aware" in line and "2.00" in line]
    assert line.split() == ["cooperative-lag-aware", "6.0", "s", "3.0", "s", "2.00", "40", "1", "1", "0"]


def test_backlog_that_was_not_drained_has_no_drain_time(results: Results) -> None:
    results["backlog"][0]["fault"] = "not drained within 4 s"
    [line] = [line for line in in_terminal(results).splitlines() if "unfinished" in line]
    assert line.split() == ["range", "unfinished", "3.0", "s", "-", "40", "1", "1", "0"]
    assert "range: not drained within 4 s." in text_of(render(results))


@pytest.mark.parametrize(("kept", "gone"), [("strategies", "backlog"), ("backlog", "strategies")])
def test_one_scene_alone_is_a_page_of_its_own(
    results: Results, kept: Literal["strategies", "backlog"], gone: Literal["strategies", "backlog"]
) -> None:
    both = drawn(results)
    results[gone].clear()
    alone = drawn(results)
    assert alone
    assert {name for name in both if ("ownership" in name) == (kept == "strategies")} & set(alone)
    assert sum(isinstance(part, Table) for part in summary(results).renderables) == 1
    assert render(results).count("<article>") == 2  # the answer, and the scene


def test_strategy_has_one_colour_in_both_scenes(results: Results) -> None:
    results["backlog"].reverse()
    drawings = drawn(results)
    bars = drawings["answer-drain"]["data"][0]
    assert bars["marker"]["color"] == [strategy_colour(2), strategy_colour(0)]
    assert drawings["largest-lag"]["data"][1]["line"]["color"] == strategy_colour(0)


def test_each_step_has_a_row_a_strategy_and_empty_is_a_dash(results: Results) -> None:
    step = results["strategies"][1]["steps"][0]
    step["paused"], step["pause_total"], step["pause_p50"], step["pause_max"] = 0, 0.0, None, None
    cells = cells_of(section_of(render(results), "Step by step"))
    assert [row[:2] for row in cells] == [["m2 joins", "range"], ["", "cooperative-sticky"]]
    assert cells[0][6:] == ["2 of 2", "2.6 s", "1.30 s", "1.60 s"]
    assert cells[1][6:] == ["0 of 2", "0.0 s", "-", "-"]


def test_rhythm_of_the_data_is_named_only_where_it_can_be_seen(results: Results) -> None:
    results["settings"]["duration"] = 60
    assert "fine comb" in render(results)
    # A day of 144 s in a replay of 60 s; one of 0.09 s, faster than the samples.
    for speed in (600, 1_000_000):
        results["settings"]["speed"] = speed
        assert "fine comb" not in render(results)


def test_lateness_and_a_fault_are_in_the_method(results: Results) -> None:
    results["backlog"].clear()
    assert "At the end everything was processed and committed" in text_of(render(results))
    results["strategies"][0]["fault"] = "not drained within 90 s"
    text = text_of(render(results))
    assert "range: not drained within 90 s." in text
    assert "everything was processed and committed" not in text
    assert "range 12 ms, cooperative-sticky 12 ms" in text


def test_every_fault_of_a_run_is_in_the_method(results: Results) -> None:
    results["strategies"].clear()
    drains = results["backlog"]
    drains[0]["lost"], drains[1]["double_owned"], drains[1]["owned_at_end"] = 5, 3, 1
    text = text_of(render(results))
    assert "range: 5 of 50 records lost." in text
    named = "1 partitions without an owner at the end; 3 times a partition had two owners at once."
    assert f"cooperative-lag-aware: {named}" in text
    assert "everything was processed and committed" not in text


def test_with_many_strategies_the_meanings_stand_below_the_table(results: Results) -> None:
    results["backlog"].clear()
    results["strategies"] = [copy.deepcopy(results["strategies"][0]) for _ in range(10)]
    for place, one in enumerate(results["strategies"]):
        one["strategy"] = f"strategy-{place}"
    text = text_of(render(results))
    assert all(f"{row.label} : {row.meaning}" in text for row in ROWS)
    assert len(cells_of(section_of(render(results), "In figures"))) == 10


# --- the failover -----------------------------------------------------------------------------------------


def test_failover_has_a_part_and_figures_of_its_own(results: Results) -> None:
    before = drawn(results)
    results["failover"] = failover()
    text = render(results)
    assert figures_of(text).keys() - before.keys() == {"still-join", "still-kill"}
    assert text.count("<article>") == 4
    assert "How long a stateful group stands still: 6.8 s with standbys, 8.5 s without" in text_of(text)
    assert "The counts of all 5 lines equal the topic" in text


def test_cold_stands_beside_warm_event_by_event(results: Results) -> None:
    results["failover"] = failover()
    text = render(results)
    rows = cells_of(section_of(text[text.index("The failover") :], "In figures"))
    assert [row[0] for row in rows] == ["One joins", "", "One is killed with -9", ""]
    assert [row[1] for row in rows] == ["cold", "warm", "cold", "warm"]
    assert [row[2] for row in rows] == ["2.60 s", "0.80 s", "8.50 s", "6.80 s"]


def test_each_task_has_a_bar_an_event_and_tasks_that_stayed_are_paler(results: Results) -> None:
    results["failover"] = failover()
    join, kill = (drawn(results)[f"still-{kind}"] for kind in ("join", "kill"))
    bars = [(bar["name"], bar["y"]) for bar in join["data"]]
    assert bars == [("cold", [2.6, 0.8]), ("with standbys and warm-ups", [0.8, 0.5])]
    for bar in (*join["data"], *kill["data"]):
        assert bar["marker"]["opacity"][0] > bar["marker"]["opacity"][1]
    assert "shapes" not in join["layout"]
    assert kill["layout"]["shapes"][0]["y0"] == 6
    assert "Dashed: the session timeout, 6 s." in text_of(render(results))


def test_failover_table_fits_80_columns(results: Results) -> None:
    results["failover"] = failover()
    results["strategies"].clear()
    results["backlog"].clear()
    text = in_terminal(results)
    assert "…" not in text
    [line] = [line for line in text.splitlines() if "kill -9 m3, warm" in line]
    assert line.split()[4:] == ["6.80", "s", "2.00", "s", "1.65", "s", "1", "220", "7", "6.5", "s", "1"]
    assert "One joins: the longest" in text


def test_every_fault_of_the_failover_is_on_the_page(results: Results) -> None:
    result = results["failover"] = failover()
    result["fault"] = "not drained within <9> s"
    result["counts"]["differences"] = ["carrier <AA>: 5 counted, 6 in the topic"]
    text = render(results)
    assert "<b>failover: not drained within &lt;9&gt; s</b>" in text
    assert "<b>failover, warm, kill m3: not settled within 10 s</b>" in text
    assert "<li>carrier &lt;AA&gt;: 5 counted, 6 in the topic</li>" in text


def test_failover_that_ended_early_is_drawn_as_far_as_it_came(results: Results) -> None:
    result = failover()
    result["events"].clear()
    results["failover"] = result
    assert "How long a stateful group stands still" in render(results)
    assert drawn(results)["still-kill"]["data"] == []
    assert sum(isinstance(part, Table) for part in summary(results).renderables) == 3


# --- the pipeline -----------------------------------------------------------------------------------------


def with_pipeline(results: Results, *candidates: str) -> Results:
    results["backlog"][0]["strategy"], results["pipeline"] = "range", pipeline(*candidates)
    return results


def test_pipeline_has_a_part_and_figures_of_its_own(results: Results) -> None:
    before = drawn(results)
    text = render(with_pipeline(results))
    assert text.count("<article>") == 4
    assert "What the pipeline recommends: use cooperative-lag-aware (load=forecast)" in text
    assert figures_of(text).keys() - before.keys() == {"course-0"}


def test_recorded_runs_have_a_row_each(results: Results) -> None:
    rows = cells_of(section_of(render(with_pipeline(results)), "Recorded"))
    assert rows == [["the backlog", "range", "1,234", "56", "50", "50", "42"]]


def test_strategies_keep_their_colours_and_other_candidates_get_free_ones(results: Results) -> None:
    names = ("sticky", "range", "cooperative-lag-aware", "fair")
    lines = drawn(with_pipeline(results, *names))["course-0"]["data"]
    colours = {line["name"]: line["line"]["color"] for line in lines}
    assert colours["range"] == strategy_colour(0)
    assert colours["cooperative-lag-aware"] == strategy_colour(2)
    assert len(set(colours.values())) == 5  # of four candidates, and grey of what was recorded


def test_pipeline_that_failed_says_so_and_shows_what_it_had(results: Results) -> None:
    failed = pipeline() | {"fault": "back-test: <gone>", "backtest": None}
    results["pipeline"] = failed
    text = render(results)
    assert "the pipeline: back-test: &lt;gone&gt;" in text
    assert "<h2>Recorded" in text
    assert "<h2>Recommendation" not in text
    assert "1,234 commits" in in_terminal(results)
    assert "candidates" not in in_terminal(results)
    results["pipeline"] = failed | {"recorded": []}
    assert "<h2>Recorded" not in render(results)
    assert sum(isinstance(part, Table) for part in summary(results).renderables) == 2


def test_terminal_shows_candidates_runs_and_what_to_use(results: Results) -> None:
    text = in_terminal(with_pipeline(results), width=100)
    assert "…" not in text
    lines = text.splitlines()
    assert max(map(len, lines)) <= 100
    [line] = [line for line in lines if "sticky" in line and " 3 " in line]
    assert line.split() == ["3", "sticky", "6.0", "50", "5.0", "1", "0.2"]
    in_words = " ".join(text.split())
    for part in ("1,234 commits of 1 group out of", "56 ends of logs", "it has tried 3 candidates"):
        assert part in in_words
    assert "the pipeline recommends: Use cooperative-lag-aware (load=forecast)" in text
    assert "…" not in in_terminal(results)
