"""The recommendation of a demo follows from its results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import pytest

from demo.figures.drain import measure_drain
from demo.figures.measure import measure
from demo.results import Results
from demo.view.answer import Answer, answer
from tests.unit.demo.pipeline.runs import pipeline
from tests.unit.demo.story import eager_join, results_of, uneven_backlog

NAMES = ("range", "cooperative-sticky", "cooperative-lag-aware")
CALM = "cooperative-sticky where members come and go"


def made(
    drains: Sequence[float] = (6.0, 5.5, 4.0),
    pauses: Sequence[float] = (9.0, 4.0, 6.0),
    moved: Sequence[int] = (19, 10, 12),
    names: Sequence[str] = NAMES,
) -> Results:
    """Two partitions, one step of the churn; the third strategy drains fastest, the second stops least."""
    replay = measure("range", eager_join())
    drain = measure_drain("range", uneven_backlog(), work_ms=100)
    return results_of(
        [
            {**replay, "strategy": name, "pause_total": pause, "moved": moves}
            for name, pause, moves in zip(names, pauses, moved, strict=False)
        ],
        [
            {**drain, "strategy": name, "drain": seconds, "largest_load": round(100 * seconds)}
            for name, seconds in zip(names, drains, strict=False)
        ],
        pipeline("cooperative-lag-aware (load=forecast)", "range"),
    )


def test_best_of_each_scene_is_recommended_for_it_with_every_measured_time() -> None:
    assert answer(made()) == Answer(
        f"Use cooperative-lag-aware for uneven load, {CALM}",
        (
            "cooperative-lag-aware drained the backlog of 50 flights in 4.0 s, against 5.5 s with "
            "cooperative-sticky and 6.0 s with range; its busiest member had 400 of them, that of range 600.",
            "While the group changed once, a partition stood still for 2.0 s on average with "
            "cooperative-sticky, against 3.0 s with cooperative-lag-aware and 4.5 s with range; "
            "cooperative-sticky moved 10 partitions, range 19.",
            "The back-test of 2 strategies and settings on the recorded load agrees: it puts "
            "cooperative-lag-aware (load=forecast) first.",
        ),
        frozenset({"cooperative-lag-aware", "cooperative-sticky"}),
    )


@pytest.mark.parametrize(
    ("changes", "headline", "place", "part"),
    [
        (
            {"pauses": (9.0, 4.0, 4.2), "moved": (19, 10, 10)},
            "Use cooperative-lag-aware",
            1,
            "2.1 s with cooperative-lag-aware (a tie)",
        ),
        (
            {"pauses": (3.9, 4.0, 6.0)},
            f"Use cooperative-lag-aware for uneven load, {CALM}",
            1,
            "range (a tie)",
        ),
        (
            {"drains": (5.0,) * 3, "pauses": (4.0,) * 3, "moved": (9,) * 3},
            "Use range or cooperative-sticky or cooperative-lag-aware: they tie",
            0,
            "5.0 s with cooperative-sticky (a tie) and 5.0 s with cooperative-lag-aware (a tie)",
        ),
        ({"drains": ()}, f"Use {CALM}", 0, "No strategy drained a backlog here"),
        ({"drains": (6.0,)}, f"Use {CALM}", 0, "range drained the backlog of 50 flights in 6.0 s."),
        (
            {"drains": (6.0,), "pauses": (9.0,)},
            "Only range can be judged: there is nothing to compare it with",
            1,
            "a partition stood still for 4.5 s on average with range.",
        ),
        (
            {"drains": (4.0, 5.0, 6.0, 7.0), "pauses": (), "names": "abcd"},
            "Use a for uneven load",
            0,
            " 5.0 s with b to 7.0 s with d; its busiest member had 400 of them, that of d 700.",
        ),
    ],
    ids=["tie", "fewer moves", "all tie", "no backlog", "only one so far", "one strategy", "many strategies"],
)
def test_recommendation_of_other_results(changes: Any, headline: str, place: int, part: str) -> None:
    advice = answer(made(**changes))
    assert advice.headline == headline
    assert part in advice.sentences[place]


def test_back_test_that_recommends_another_strategy_disagrees() -> None:
    results = made(pauses=(9.0, 4.0, 3.0))
    results["pipeline"] = pipeline("sticky", "range")
    assert answer(results).sentences[2].endswith("disagrees: it puts sticky first.")


@pytest.mark.parametrize(("figure", "value"), [("lost", 5), ("double_owned", 3), ("owned_at_end", 1)])
def test_strategy_with_a_fault_in_one_scene_is_not_judged(
    figure: Literal["lost", "double_owned", "owned_at_end"], value: int
) -> None:
    results = made()
    results["strategies"][2][figure] = value
    advice = answer(results)
    assert advice.headline == "Use cooperative-sticky"
    assert advice.sentences[0].endswith(
        "that of range 600. Failed, and so not judged: cooperative-lag-aware."
    )
    assert "cooperative-lag-aware" not in advice.sentences[1]
    for run in results["strategies"]:
        run[figure] = value
    assert answer(results).headline == "No strategy can be recommended: each of them failed"


def test_drains_on_a_machine_that_slowed_some_of_them_do_not_decide() -> None:
    results = made()
    results["backlog"][2]["drain"] = 5.2
    advice = answer(results)
    assert advice.headline == f"Use {CALM}"
    assert advice.sentences[0] == (
        "Members worked at different speeds in these drains, so their times do not decide: 5.2 s with "
        "cooperative-lag-aware, 5.5 s with cooperative-sticky (a tie) and 6.0 s with range."
    )


def test_replay_without_churn_does_not_decide() -> None:
    results = made()
    for run in results["strategies"]:
        run["steps"] = []
    advice = answer(results)
    assert advice.headline == "Use cooperative-lag-aware for uneven load"
    assert advice.sentences[1].startswith("No group changed in a replay here")
    results["backlog"] = []
    assert answer(results).headline == "The runs do not decide between the strategies"


def test_missing_back_test_is_explained() -> None:
    results = made()
    results["pipeline"] = pipeline() | {"backtest": None, "fault": "record: <gone>"}
    assert answer(results).sentences[2] == "The pipeline made no back-test: record: <gone>."
    results["pipeline"] = None
    assert answer(results).sentences[2].startswith("The pipeline did not run")
