"""The report as text, and the terminal's tables.  A browser looks at the report in the integration tests."""

from __future__ import annotations

import io
from typing import Any, Literal

import pytest
from rich.console import Console

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
    replays = [measure(name, eager_join()) for name in ("range", "cooperative-sticky")]
    drains = [measure_drain(name, uneven_backlog(), 100) for name in ("range", "cooperative-lag-aware")]
    return results_of(replays, drains)


@pytest.fixture
def whole(results: Results) -> Results:
    """All scenes, and the pipeline."""
    results["failover"], results["pipeline"] = failover(), pipeline()
    return results


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "plotly_js", lambda: "/* plotly */")


def drawn(results: Results) -> dict[str, Any]:
    return figures_of(render(results))


def in_terminal(results: Results, width: int = 80) -> str:
    """Return what a terminal shows, with nothing cut off."""
    out = io.StringIO()
    Console(file=out, width=width).print(summary(results))
    text = out.getvalue()
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    return text


def row_of(text: str, *parts: str) -> list[str]:
    """Return the cells of the only line with these parts."""
    [line] = [line for line in text.splitlines() if all(part in line for part in parts)]
    return line.split()


# --- the page -----------------------------------------------------------------------------------------------

OF_REPLAY = {"answer-standstill", "ownership-0", "lag-0", "ownership-1", "lag-1"}
OF_BACKLOG = {"answer-drain", "largest-lag", "backlog-lag-0", "backlog-lag-1"}


def test_page_has_an_article_a_scene_and_an_element_for_every_figure(whole: Results) -> None:
    text = render(whole)
    wanted = OF_REPLAY | OF_BACKLOG | {"still-join", "still-kill", "course-0"}
    assert figures_of(text).keys() == wanted
    for name in wanted:
        assert text.count(f'id="{name}"') == 1
    assert text.count("<article>") == 5
    assert "How long a stateful group stands still: 6.8 s with standbys, 8.5 s without" in text_of(text)
    assert "What the pipeline recommends: use cooperative-lag-aware (load=forecast)" in text


@pytest.mark.parametrize(
    ("gone", "left"), [("strategies", OF_BACKLOG), ("backlog", OF_REPLAY)], ids=["backlog", "replay"]
)
def test_one_scene_alone_is_a_page_of_its_own(
    results: Results, gone: Literal["strategies", "backlog"], left: set[str]
) -> None:
    results[gone].clear()
    text = render(results)
    assert figures_of(text).keys() == left
    assert text.count("<article>") == 2  # the answer, and the scene
    assert row_of(in_terminal(results), "partitions moved" if gone == "backlog" else "largest load")


def test_names_cannot_break_out_of_the_page(results: Results) -> None:
    results["strategies"][0]["strategy"] = "</script><b>"
    text = render(results)
    assert "<b>" not in markup_of(text)
    assert text.count("</script>") == 2


def test_page_opens_with_the_answer_its_reasons_and_its_picture(results: Results) -> None:
    text, advice = render(results), answer(results)
    first = text_of(text.partition("</article>")[0])
    assert first.index(advice.headline) < min(first.index(sentence) for sentence in advice.sentences)
    assert "replay 100 s" in first
    assert "dotted: lower bound, 3.0 s" in first
    drain, stop = (figures_of(text)[f"answer-{panel}"] for panel in ("drain", "standstill"))
    assert drain["data"][0]["text"] == ["6.0 s", "6.0 s"]
    assert drain["layout"]["shapes"][0]["x0"] == 3.0
    assert stop["data"][0]["text"] == ["1.3 s<br>1 moves"] * 2
    labels = [*drain["data"][0]["y"], *stop["data"][0]["y"]]
    assert {label[3:-4] for label in labels if label.startswith("<b>")} == advice.chosen


def test_every_axis_has_a_title_and_strategies_share_their_axes(results: Results) -> None:
    results["strategies"][1]["end"], results["strategies"][1]["peak_lag"] = 30.0, 500
    results["backlog"][1]["drain"] = 9.9
    layouts = {name: figure["layout"] for name, figure in drawn(results).items()}
    for name, layout in layouts.items():
        assert layout["xaxis"]["title"]["text"]
        assert name.startswith("answer") or layout["yaxis"]["title"]["text"]
    for kind in ("ownership", "lag", "backlog-lag"):
        assert layouts[f"{kind}-0"]["xaxis"] == layouts[f"{kind}-1"]["xaxis"]
        assert layouts[f"{kind}-0"]["yaxis"] == layouts[f"{kind}-1"]["yaxis"]


def test_strategy_has_one_colour_on_the_page_and_other_candidates_get_free_ones(results: Results) -> None:
    results["backlog"].reverse()
    results["backlog"][0]["strategy"], results["pipeline"] = "range", pipeline("sticky", "range", "fair")
    drawings = drawn(results)
    assert drawings["answer-standstill"]["data"][0]["marker"]["color"][0] == strategy_colour(0)
    assert drawings["largest-lag"]["data"][0]["line"]["color"] == strategy_colour(0)
    colours = {line["name"]: line["line"]["color"] for line in drawings["course-0"]["data"]}
    assert colours["range"] == strategy_colour(0)
    assert not {colours["sticky"], colours["fair"]} & {strategy_colour(0), strategy_colour(1)}
    assert colours["sticky"] != colours["fair"]


# --- the replay and the backlog -----------------------------------------------------------------------------


def test_terminal_tables_fit_80_columns(results: Results) -> None:
    text = in_terminal(results)
    assert text.splitlines()[1].split() == ["range", "cooperative-sticky"]
    for row in ROWS:
        assert row.label in text
    figures = ["6.0", "s", "3.0", "s", "2.00", "40", "1", "1", "0"]
    assert row_of(text, "cooperative-lag-aware", "2.00") == ["cooperative-lag-aware", *figures]


def test_bands_show_owners_gaps_warm_ups_and_waits(results: Results) -> None:
    figure = drawn(results)["ownership-0"]
    traces = {trace["name"]: trace for trace in figure["data"]}
    assert list(traces) == ["no owner", "m1", "m2", "warming up", "waiting"]
    assert traces["no owner"]["base"] == [3.1, 3.1]
    assert traces["m2"] | {"x": [6.5], "base": [3.5], "y": [1]} == traces["m2"]
    assert traces["waiting"]["x"] == [1.6, 1.0]
    assert [note["text"] for note in figure["layout"]["annotations"]] == ["m2 joins"]


def test_largest_lag_is_drawn_beside_that_of_an_optimal_plan(results: Results) -> None:
    lines = {line["name"]: line for line in drawn(results)["largest-lag"]["data"]}
    assert (lines["range"]["x"][0], lines["range"]["y"][0]) == (0.0, 40)
    assert (lines["lower bound"]["x"], lines["lower bound"]["y"]) == ([0.0, 3.0], [30, 0])


def test_one_strategy_without_churn_is_drawn_too(results: Results) -> None:
    del results["strategies"][1]
    results["strategies"][0]["steps"], results["strategies"][0]["waits"] = [], []
    assert "The group does not change." in text_of(render(results))
    assert "answer-standstill" not in drawn(results)


def test_each_step_has_a_row_a_strategy_and_empty_is_a_dash(results: Results) -> None:
    step = results["strategies"][1]["steps"][0]
    step["paused"], step["pause_total"], step["pause_p50"], step["pause_max"] = 0, 0.0, None, None
    cells = cells_of(section_of(render(results), "Step by step"))
    assert [row[:2] + row[6:] for row in cells] == [
        ["m2 joins", "range", "2 of 2", "2.6 s", "1.30 s", "1.60 s"],
        ["", "cooperative-sticky", "0 of 2", "0.0 s", "-", "-"],
    ]


def test_rhythm_of_the_data_is_named_only_if_it_can_be_seen(results: Results) -> None:
    """A day of 144 s is longer than a replay of 60 s; one of 0.09 s is faster than the samples."""
    results["settings"]["duration"] = 60
    for speed, is_seen in ((60_000, True), (600, False), (1_000_000, False)):
        results["settings"]["speed"] = speed
        assert ("fine comb" in render(results)) == is_seen


def test_lateness_and_every_fault_of_a_run_are_in_the_method(results: Results) -> None:
    text = text_of(render(results))
    assert "range 12 ms, cooperative-sticky 12 ms" in text
    assert text.count("At the end everything was processed and committed") == 2
    results["strategies"][0]["fault"] = results["backlog"][0]["fault"] = "not drained within 4 s"
    results["backlog"][1]["double_owned"], results["backlog"][1]["owned_at_end"] = 3, 1
    text = text_of(render(results))
    assert text.count("range: not drained within 4 s.") == 2
    named = "1 partitions without an owner at the end; 3 times a partition had two owners at once."
    assert f"cooperative-lag-aware: {named}" in text
    assert "everything was processed and committed" not in text
    figures = ["unfinished", "3.0", "s", "-", "40", "1", "1", "0"]
    assert row_of(in_terminal(results), "range", "unfinished", "3.0") == ["range", *figures]


@pytest.mark.parametrize("strategies", [2, 10])
def test_table_has_every_row_with_its_meaning(results: Results, strategies: int) -> None:
    """With many strategies the meanings stand below the table."""
    results["strategies"] = [measure(f"strategy-{n}", eager_join()) for n in range(strategies)]
    text = text_of(render(results))
    for label, meaning in [(r.label, r.meaning) for r in ROWS] + [(r.label, r.meaning) for r in DRAIN_ROWS]:
        assert label in text
        assert meaning in text


# --- the failover -------------------------------------------------------------------------------------------


def test_failover_has_cold_beside_warm_event_by_event(whole: Results) -> None:
    page = render(whole)
    rows = cells_of(section_of(page[page.index("The failover") :], "In figures"))
    assert [row[:3] for row in rows] == [
        ["One joins", "cold", "2.60 s"],
        ["", "warm", "0.80 s"],
        ["One is killed with -9", "cold", "8.50 s"],
        ["", "warm", "6.80 s"],
    ]
    assert "The counts of all 5 lines equal the topic" in page
    text = in_terminal(whole)
    figures = ["6.80", "s", "2.00", "s", "1.65", "s", "1", "220", "7", "6.5", "s", "1"]
    assert row_of(text, "kill -9 m3, warm")[4:] == figures
    assert "One joins: the longest" in text


def test_each_task_has_a_bar_an_event_and_tasks_that_stayed_are_paler(whole: Results) -> None:
    drawings = drawn(whole)
    join, kill = drawings["still-join"], drawings["still-kill"]
    bars = [(bar["name"], bar["y"]) for bar in join["data"]]
    assert bars == [("cold", [2.6, 0.8]), ("with standbys and warm-ups", [0.8, 0.5])]
    for bar in (*join["data"], *kill["data"]):
        assert bar["marker"]["opacity"][0] > bar["marker"]["opacity"][1]
    assert "shapes" not in join["layout"]
    assert kill["layout"]["shapes"][0]["y0"] == 6
    assert "Dashed: the session timeout, 6 s." in text_of(render(whole))


def test_every_fault_of_the_failover_is_on_the_page(results: Results) -> None:
    result = results["failover"] = failover()
    result["fault"] = "not drained within <9> s"
    result["counts"]["differences"] = ["carrier <AA>: 5 counted, 6 in the topic"]
    text = render(results)
    assert "<b>failover: not drained within &lt;9&gt; s</b>" in text
    assert "<b>failover, warm, kill m3: not settled within 10 s</b>" in text
    assert "<li>carrier &lt;AA&gt;: 5 counted, 6 in the topic</li>" in text


def test_failover_that_ended_early_is_drawn_as_far_as_it_came(whole: Results) -> None:
    assert whole["failover"]
    whole["failover"]["events"].clear()
    assert "How long a stateful group stands still" in render(whole)
    assert drawn(whole)["still-kill"]["data"] == []
    assert "a stateful count fails over" in in_terminal(whole)


# --- the pipeline -------------------------------------------------------------------------------------------


def test_pipeline_shows_recorded_runs_candidates_and_the_recommendation(whole: Results) -> None:
    rows = cells_of(section_of(render(whole), "Recorded"))
    assert rows == [["the backlog", "range", "1,234", "56", "50", "50", "42"]]
    text = in_terminal(whole, 100)
    assert row_of(text, "sticky", " 3 ") == ["3", "sticky", "6.0", "50", "5.0", "1", "0.2"]
    for part in ("1,234 commits of 1 group out of", "56 ends of logs", "it has tried 3 candidates"):
        assert part in " ".join(text.split())
    assert "the pipeline recommends: Use cooperative-lag-aware (load=forecast)" in text


def test_pipeline_that_failed_says_so_and_shows_its_finished_steps(results: Results) -> None:
    failed = results["pipeline"] = pipeline() | {"fault": "back-test: <gone>", "backtest": None}
    text = render(results)
    assert "the pipeline: back-test: &lt;gone&gt;" in text
    assert "<h2>Recorded" in text
    assert "<h2>Recommendation" not in text
    assert "1,234 commits" in in_terminal(results)
    failed["recorded"] = []
    assert "<h2>Recorded" not in render(results)
    assert "commits" not in in_terminal(results)
