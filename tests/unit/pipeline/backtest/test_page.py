"""The report of a back-test as text.  A browser looks at it in the integration tests."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_assignors.pipeline.backtest.figures import MOST_BARS
from kafka_assignors.pipeline.backtest.page import render
from kafka_assignors.pipeline.backtest.phrases import ROWS, for_each_group, left_out, reasons, verdict
from kafka_assignors.pipeline.backtest.results import CandidateResult, Results
from kafka_assignors.report import page as report_page
from kafka_assignors.report.palette import NO_OWNER, strategy_colour
from tests.unit.pipeline.backtest.trials import small_results
from tests.unit.report.reading import cells_of, figures_of, markup_of, section_of, text_of


@pytest.fixture
def results() -> Results:
    return small_results()


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_page, "plotly_js", lambda: "/* plotly */")


def drawn(results: Results) -> dict[str, Any]:
    return figures_of(render(results))


def many(results: Results, count: int) -> None:
    """Make so many candidates of the first one, the same for each group."""
    first = results["candidates"][0]
    for ranking in (results, *results["by_group"]):
        ranking["candidates"] = [
            CandidateResult({**first, "candidate": f"c{n}", "place": n + 1}) for n in range(count)
        ]
    line = results["plots"][0]["lines"][0]
    for plot in results["plots"]:
        plot["lines"] = [{**line, "candidate": f"c{n}"} for n in range(min(count, 10))]


def test_page_has_every_figure(results: Results) -> None:
    text = render(results)
    wanted = ["course-0", "course-1", "drain", "moves", "pauses", "late"]
    assert sorted(figures_of(text)) == sorted(wanted)
    for name in wanted:
        assert text.count(f'id="{name}"') == 1


def test_candidate_has_one_colour_for_line_bar_and_reason(results: Results) -> None:
    names = [candidate["candidate"] for candidate in results["candidates"]]
    figures = drawn(results)
    for place, name in enumerate(names):
        lag, time_lag = (line for line in figures["course-0"]["data"] if line["name"] == name)
        assert lag["line"]["color"] == time_lag["line"]["color"] == strategy_colour(place)
        assert figures["moves"]["data"][0]["marker"]["color"][place] == strategy_colour(place)
    assert figures["moves"]["data"][0]["x"] == [candidate["moved"] for candidate in results["candidates"]]


def test_course_shows_lag_above_time_lag(results: Results) -> None:
    figure, line = drawn(results)["course-0"], results["plots"][0]["lines"][0]
    lag, time_lag = figure["data"][:2]
    assert (lag["y"], time_lag["y"]) == (line["lag"], line["time_lag"])
    assert (lag["yaxis"], time_lag["yaxis"]) == ("y", "y2")
    titles = [figure["layout"][axis]["title"]["text"] for axis in ("yaxis", "yaxis2")]
    assert titles == ["lag (records)", "time lag (s)"]


def test_every_candidate_has_its_reasons(results: Results) -> None:
    rows = cells_of(section_of(render(results), "Recommendation"))
    assert [row[1:] for row in rows] == [
        [candidate["candidate"], "; ".join(candidate["reasons"])] for candidate in results["candidates"]
    ]


def test_churn_is_marked(results: Results) -> None:
    notes = drawn(results)["course-0"]["layout"]["annotations"]
    labels = [(note["x"], note["text"]) for note in notes]
    assert labels == [(100.0, "a member joins"), (300.0, "one is killed")]


def test_long_history_is_drawn_in_hours_or_days(results: Results) -> None:
    for times, unit, end in ((60, "hours", 10.0), (600, "days", 6000 / 1440)):
        for line in results["plots"][0]["lines"]:
            line["t"] = [float(at * times) for at in range(0, 601, 10)]
            line["lag"] = line["time_lag"] = [0.0] * 61
        figure = drawn(results)["course-0"]
        assert f"({unit})" in figure["layout"]["xaxis2"]["title"]["text"]
        assert figure["data"][0]["x"][-1] == pytest.approx(end, abs=1e-4)
        for line in results["plots"][0]["lines"]:
            line["t"] = line["t"][:1]  # the next round starts anew


def test_recorded_lag_is_grey_and_hidden_if_it_is_far_larger(results: Results) -> None:
    plot = results["plots"][0]
    most = max(max(line["lag"]) for line in plot["lines"])
    for peak, visible in ((most, True), (9 * most, "legendonly")):
        plot["recorded"] = [(10.0, 0.0), (20.0, peak)]
        first = drawn(results)["course-0"]["data"][0]
        assert (first["name"], first["visible"], first["y"]) == ("recorded", visible, [0.0, peak])


def test_best_of_many_candidates_are_drawn_and_all_are_in_the_table(results: Results) -> None:
    many(results, MOST_BARS + 5)
    text = render(results)
    bars = figures_of(text)["moves"]["data"][0]
    assert len(bars["y"]) == MOST_BARS
    assert bars["marker"]["color"][10:] == [NO_OWNER] * (MOST_BARS - 10)
    assert "the table has 5 more" in text
    assert len(cells_of(section_of(text, "In figures"))) == MOST_BARS + 5


def test_rows_have_a_meaning(results: Results) -> None:
    text = text_of(render(results))
    for row in ROWS:
        assert row.meaning in text


def test_names_are_escaped(results: Results) -> None:
    evil = "</script><b>"
    results["groups"][0]["group"] = results["plots"][0]["load"] = results["run"]["history"] = evil
    results["candidates"][0]["candidate"] = evil
    for plot in results["plots"]:
        plot["lines"][0]["candidate"] = evil
    results["notes"].append(evil)
    results["failures"].append(evil)
    text = render(results)
    assert "<b>" not in markup_of(text)
    assert text.count("</script>") == 2


def test_undrained_candidate_shows_never_and_failed_one_shows_dashes(results: Results) -> None:
    drain = next(row for row in ROWS if row.label == "drain time")
    one = results["candidates"][0]
    assert drain.show(CandidateResult({**one, "drain_s": 12.34, "drained": 4, "scenarios": 4})) == "12.3 s"
    partly = CandidateResult({**one, "drain_s": 5.0, "drained": 1, "scenarios": 4})
    assert drain.show(partly) == "5.0 s (1 of 4)"
    assert drain.show(CandidateResult({**one, "drain_s": None, "drained": 0})) == "never"
    failed = CandidateResult({**one, "scenarios": 4, "failed": 4, "drain_s": None, "place": None})
    assert (drain.show(failed), ROWS[0].show(failed)) == ("-", "-")


def test_interval_of_replicates_is_shown_in_brackets(results: Results) -> None:
    show = {row.label: row.show for row in ROWS}
    intervals = {"moved": (3.0, 12.4), "drain_s": (10.06, 1234.5), "r_score": (0.0, 0.456)}
    candidate = CandidateResult(
        {**results["candidates"][0], "moved": 7.0, "r_score": 0.25, "intervals": intervals}
    )
    candidate.update({"drain_s": 12.0, "drained": 20, "scenarios": 20, "failed": 0})
    assert show["partitions moved"](candidate) == "7 (3 to 12)"
    assert show["R-score"](candidate) == "0.25 (0.00 to 0.46)"
    assert show["drain time"](candidate) == "12.0 s (10.1 to 1,234.5)"
    assert show["drain time"]({**candidate, "drained": 3}) == "12.0 s (10.1 to 1,234.5, 3 of 20)"
    results["candidates"][0], results["replicates"] = candidate, 20
    text = render(results)
    assert figures_of(text)["moves"]["data"][0]["text"][0] == "7<br>(3 to 12)"
    assert "7 <small>(3 to 12)</small>" in section_of(text, "In figures")
    assert "5th and 95th percentile, over 20 draws of the times" in text_of(text)
    assert "Figures are means" not in text_of(text)


def test_verdict_names_all_equal_candidates(results: Results) -> None:
    many(results, 5)
    results["by_group"] = results["by_group"][:1]
    results["by_group"][0]["candidates"] = results["candidates"]
    assert verdict(results) == "Use c0"
    for one in results["candidates"][:3]:
        one["place"] = 1
    assert verdict(results) == "Use any of c0, c1, c2"
    for one in results["candidates"]:
        one["place"] = 1
    assert verdict(results) == "Use any of c0, c1, c2 or 2 more"
    assert reasons(results)[-1] == "The 5 candidates in first place do not really differ."
    for one in results["candidates"]:
        one["place"] = None
    assert verdict(results) == "No candidate can be recommended"


def test_groups_that_agree_have_one_line(results: Results) -> None:
    many(results, 3)
    assert verdict(results) == "Use c0"
    assert for_each_group(results) == ["The same for each group."]
    assert "The same for each group." in section_of(render(results), "For each group")
    results["by_group"].pop()
    assert for_each_group(results) == []
    assert "For each group" not in render(results)


def test_groups_that_differ_have_a_line_each_with_reasons(results: Results) -> None:
    many(results, 3)
    first, second = results["by_group"]
    first["candidates"][0]["reasons"] = ["mean lag 1 records, 9 for c1", "no real difference from c1"]
    second["candidates"][1]["place"] = 1
    second["candidates"][0]["place"] = 2
    second["candidates"][1]["reasons"] = ["time lag (p99) 2.0 s, 300.0 s for c0", "but 2 partitions moved"]
    assert verdict(results) == "Use c0 if all groups use the same"
    lines = [
        "g: Use c0. Mean lag 1 records, 9 for c1.",
        "h: Use c1. Time lag (p99) 2.0 s, 300.0 s for c0. But 2 partitions moved.",
    ]
    assert for_each_group(results) == lines
    section = section_of(render(results), "For each group")
    assert all(f"<li>{line}</li>" in section for line in lines)


def test_left_out_groups_are_named_with_the_reason(results: Results) -> None:
    results["left_out"] = [{"group": "<idle>", "why": "never busy: give --service-rate"}]
    assert left_out(results) == ["left out: <idle> (never busy: give --service-rate)"]
    assert "left out: <idle> (never busy: give --service-rate)" in text_of(render(results))


def test_best_candidate_is_compared_to_the_last(results: Results) -> None:
    many(results, 2)
    best, last = results["candidates"]
    best.update({"moved": 3.0, "largest_lag": 1000.0, "time_lag_p99": 1.0, "drain_s": 2.0})
    last.update({"moved": 7.0, "largest_lag": 1000.0, "time_lag_p99": 9.5, "drain_s": 2.0})
    assert not any("Compared" in reason for reason in reasons(results))  # means over groups say little
    results["by_group"].pop()
    assert reasons(results)[-1] == (
        "Compared with the last, c1: time lag p99 1.0 s, not 9.5 s; partitions moved 3, not 7."
    )
    last.update({"moved": best["moved"], "time_lag_p99": best["time_lag_p99"]})
    assert not any("Compared" in reason for reason in reasons(results))


def test_parameters_of_a_long_name_are_wrapped(results: Results) -> None:
    results["candidates"][0]["candidate"] = "sticky (replan_s=60)"
    results["candidates"][1]["candidate"] = (
        "cooperative-lag-aware (load=forecast, min_improvement=0.2, rebalance_on_skew=True)"
    )
    results["plots"].clear()
    assert drawn(results)["moves"]["data"][0]["y"][:2] == [
        "sticky (replan_s=60)",
        "cooperative-lag-aware<br>(load=forecast,<br>min_improvement=0.2,<br>rebalance_on_skew=True)",
    ]
