"""The demo for real, small: processes, churn, all strategies and its files."""

from __future__ import annotations

import json

from demo.results import StrategyResult
from tests.integration.demo.small_demo import MEMBERS, PARTITIONS, STRATEGIES, Demo


def test_no_record_is_lost_and_every_partition_is_owned(demo: Demo) -> None:
    results = demo.results
    assert [one["strategy"] for one in results["strategies"]] == list(STRATEGIES)
    for one in results["strategies"]:
        assert one["produced"] == one["processed"] > 1_000
        assert (one["lost"], one["double_owned"], one["owned_at_end"]) == (0, 0, PARTITIONS)


def test_every_strategy_ran_with_the_same_events_and_churn(demo: Demo) -> None:
    runs = demo.results["strategies"]
    assert len({one["produced"] for one in runs}) == 1
    for one in runs:
        assert [(step["kind"], step["member"]) for step in one["steps"]] == [
            ("join", "m4"),
            ("leave", "m1"),
            ("kill", "m2"),
        ]
        # Never early, whatever the machine; late by as much as it stalls, which the report shows.
        times = [step["at"] for step in one["steps"]]
        assert times == sorted(times)
        assert all(at >= due for at, due in zip(times, [1, 5, 7.5], strict=True))
        assert {hold["member"] for hold in one["holds"]} == set(MEMBERS)


def test_each_step_settled_and_was_measured(demo: Demo) -> None:
    for one in demo.results["strategies"]:
        assert one["drain"] >= 0
        assert one["lag"]["total"][-1] == 0
        assert one["fault"] == ""
        assert 0 <= one["lateness"] < 14
        assert 0 < (one["pause_p50"] or 0) <= (one["pause_max"] or 0) <= one["pause_total"]
        assert 0 < one["paused"] <= one["pausable"] == 3 * PARTITIONS
        kill = one["steps"][-1]
        assert kill["settled"] is not None
        assert kill["settled"] > 4  # the session timeout is 6 s, counted from the last heartbeat
        if each_step_rebalanced(one):
            assert one["moved"] >= one["least_moves"]


def each_step_rebalanced(one: StrategyResult) -> bool:
    """Whether no step settled too late, or started its member too late, and left its moves to the next."""
    return all(step["settled"] is not None and step["rebalances"] for step in one["steps"])


def test_cooperative_sticky_moves_the_minimum(demo: Demo) -> None:
    ranges, sticky, _ = demo.results["strategies"]
    assert sticky["moved"] <= ranges["moved"]
    if each_step_rebalanced(sticky):
        assert sticky["moved"] == sticky["least_moves"]


def test_partitions_of_a_killed_member_pause(demo: Demo) -> None:
    for one in demo.results["strategies"]:
        kill = one["steps"][-1]
        orphans = {h["partition"] for h in one["holds"] if (h["member"], h["end"]) == ("m2", kill["at"])}
        ended: dict[int, float] = {}  # partition -> end of its first wait that ends after the kill
        for wait in one["waits"]:
            if wait["end"] > kill["at"]:
                ended[wait["partition"]] = min(wait["end"], ended.get(wait["partition"], wait["end"]))
        assert orphans
        assert all(ended[partition] > kill["at"] + 3 for partition in orphans)


def test_stdout_has_the_result_and_stderr_the_progress(demo: Demo) -> None:
    printed = json.loads(demo.ended.stdout)
    assert printed["report"] == str(demo.out / "report.html")
    assert printed == demo.results | {"report": printed["report"]}
    lines = demo.ended.stderr.splitlines()
    steps = ["join m4", "leave m1", "kill m2"]
    assert [line for line in lines if line in steps] == len(STRATEGIES) * steps


def test_every_process_leaves_a_log(demo: Demo) -> None:
    for strategy in STRATEGIES:
        names = {path.name for path in (demo.out / "replay" / strategy).glob("*.jsonl")}
        assert names == {"driver.jsonl", *(f"{member}.jsonl" for member in MEMBERS)}
