"""What was missed is said once, and counted each time."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_assignors.pipeline.record.sample_report import SamplesReport, Tally


def seen(rows: int, groups: int, *problems: tuple[str, str | None, str]) -> dict[str, Any]:
    named = [{"group": group, "topic": topic, "problem": problem} for group, topic, problem in problems]
    return {"rows": rows, "groups": groups, "problems": named}


def test_looks_add_up() -> None:
    tally = Tally()
    assert tally.report == SamplesReport(0, 0, 0, {})
    tally.add(seen(5, 2, ("g", None, "no such group"), ("h", "t", "no such partition")))
    tally.add(seen(4, 1, ("g", None, "no such group")))
    assert tally.report == SamplesReport(2, 9, 1, {"no such group": 2, "no such partition": 1})


def test_what_goes_on_is_said_once_and_what_comes_again_once_more(caplog: pytest.LogCaptureFixture) -> None:
    tally = Tally()
    trouble = ("g", None, "no such group")
    for look in ([trouble], [trouble], [], [trouble, ("", None, "which groups there are is not known: no")]):
        tally.add(seen(0, 0, *look))
    assert [record.getMessage() for record in caplog.records] == [
        "no samples of group 'g': no such group",
        "no samples of group 'g': no such group",
        "no samples of some groups: which groups there are is not known: no",
    ]


def test_details_that_differ_from_time_to_time_are_one_problem(caplog: pytest.LogCaptureFixture) -> None:
    tally = Tally()
    for port in (1, 2):
        tally.add(seen(0, 0, ("g", None, f"no broker answers: connection {port} refused")))
    assert caplog.messages == ["no samples of group 'g': no broker answers: connection 1 refused"]
    assert tally.report.misses == {"no broker answers": 2}


def test_a_log_has_a_limit(caplog: pytest.LogCaptureFixture) -> None:
    Tally().add(seen(0, 0, *((f"g{n:03}", "t", "not authorised") for n in range(100))))
    assert len(caplog.messages) == 21
    assert caplog.messages[0] == "no samples of group 'g000', topic 't': not authorised"
    assert caplog.messages[-1] == "no samples: and so on, of 80 more"
