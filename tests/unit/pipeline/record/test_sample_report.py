"""What was missed is said once, and counted each time."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_assignors.pipeline.record.sample_report import SamplesReport


def seen(rows: int, groups: int, *problems: tuple[str, str | None, str]) -> dict[str, Any]:
    named = [{"group": group, "topic": topic, "problem": problem} for group, topic, problem in problems]
    return {"rows": rows, "groups": groups, "problems": named}


def test_batches_add_up() -> None:
    assert SamplesReport() == SamplesReport(0, 0, 0, {})
    first = SamplesReport().with_batch(
        seen(5, 2, ("g", None, "no such group"), ("h", "t", "no such partition"))
    )
    report = first.with_batch(seen(4, 1, ("g", None, "no such group")))
    assert report == SamplesReport(2, 9, 1, {"no such group": 2, "no such partition": 1})


def test_problem_is_logged_once_and_again_after_an_interruption(caplog: pytest.LogCaptureFixture) -> None:
    report = SamplesReport()
    trouble = ("g", None, "no such group")
    for look in ([trouble], [trouble], [], [trouble, ("", None, "groups cannot be listed: no")]):
        report = report.with_batch(seen(0, 0, *look))
    assert [record.getMessage() for record in caplog.records] == [
        "no samples of group 'g': no such group",
        "no samples of group 'g': no such group",
        "no samples of some groups: groups cannot be listed: no",
    ]


def test_problems_that_differ_only_in_details_are_one(caplog: pytest.LogCaptureFixture) -> None:
    report = SamplesReport()
    for port in (1, 2):
        report = report.with_batch(seen(0, 0, ("g", None, f"no broker answers: connection {port} refused")))
    assert caplog.messages == ["no samples of group 'g': no broker answers: connection 1 refused"]
    assert report.misses == {"no broker answers": 2}


def test_log_lines_of_a_batch_are_limited(caplog: pytest.LogCaptureFixture) -> None:
    SamplesReport().with_batch(seen(0, 0, *((f"g{n:03}", "t", "not authorised") for n in range(100))))
    assert len(caplog.messages) == 21
    assert caplog.messages[0] == "no samples of group 'g000', topic 't': not authorised"
    assert caplog.messages[-1] == "no samples: 80 more problems in this batch are not logged"
