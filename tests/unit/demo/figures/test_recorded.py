from __future__ import annotations

from dataclasses import replace

import pytest

from demo.figures.recorded import ASKS_S, pace, recording
from demo.group.logs import RunLogs
from demo.results import SettingsResult
from kafka_assignors.errors import KafkaAssignorsError
from kafka_assignors.simulation import simulate
from tests.unit.demo.story import SETTINGS as BY_DEFAULT
from tests.unit.demo.story import S, at, done, opened, sent, uneven_backlog

SETTINGS: SettingsResult = {**BY_DEFAULT, "batch": 1, "pipeline": False}


def replayed() -> RunLogs:
    """Two partitions, 10 records/s for 3 s from 10 s on; m1 has 0, m2 has 1; m3 is started at 11 s.

    m1 does 10 records/s, m2 5 in its first second and 10 after that.
    """
    driver = [at(10, "replay"), *(sent(10 + n / 10, p, n, n) for n in range(30) for p in (0, 1))]
    driver += [at(11, "join", note="m3"), at(13, "sent_all", note="2.5"), at(20, "end")]
    driver.sort(key=lambda entry: entry.t)
    first = [at(1, "assigned", 0), *(done(10, 10.1 + n / 10, 0, n, n) for n in range(30))]
    second = [at(1, "assigned", 1), *(done(10, 10.2 + n / 5, 1, n, n) for n in range(5))]
    second += [done(11, 11.3 + n / 10, 1, n + 5, n + 5) for n in range(25)]
    third = [at(12.5, "started", note="7")]
    return RunLogs(2, 2, driver, {"m1": first, "m2": second, "m3": third})


def test_a_backlog_is_what_waits_at_the_word() -> None:
    logs = uneven_backlog()
    one_by_one = [done(10, 10.1 + n / 10, 0, n, n) for n in range(20)]
    first = sorted([*one_by_one, *logs.members["m1"]], key=lambda entry: entry.t)
    logs = replace(logs, members={**logs.members, "m1": [e for e in first if e.last != 19 or e.first == 19]})
    history, scenario = recording("cooperative-sticky", logs, SETTINGS)
    assert history.service_rate == pytest.approx(10)
    assert history.start_lags.tolist() == [30, 10, 10]
    assert history.arrivals.sum() == 0
    assert history.length_s == pytest.approx(7)
    assert scenario.owners == ("m1", "m1", "m2")
    assert (scenario.members, scenario.churn) == (2, ())
    pauses = scenario.pauses
    assert (pauses.heartbeat_s, pauses.warm_up_s, pauses.session_timeout_s) == (0.5, 0.3, 6.0)


def test_a_replay_is_what_was_sent_when_and_the_script_as_it_was_carried_out() -> None:
    history, scenario = recording("range", replayed(), replace_batch(1))
    assert history.arrivals.sum(axis=0).tolist() == [30, 30]
    assert history.arrivals[:30].tolist() == [[1, 1]] * 30
    assert history.length_s == pytest.approx(10)
    assert [str(step) for step in scenario.churn] == ["join@1"]
    assert scenario.pauses.start_s == pytest.approx(1.5 + ASKS_S)
    assert scenario.owners == ("m1", "m2")
    assert simulate(history, scenario).left == 0


def replace_batch(batch: int) -> SettingsResult:
    settings = SETTINGS.copy()
    settings["batch"] = batch
    return settings


def test_how_fast_members_are_is_measured_while_they_have_enough_to_read() -> None:
    """m1 is never behind.  m2 is, from its first record on: 4 records in 0.8 s, one in 0.3 s, 23 in 2.3 s."""
    rate, by_window = pace(replayed(), 2, 10 * S, 20 * S)
    assert rate == pytest.approx(28 / 3.4)
    assert by_window[0] * rate == pytest.approx(5, rel=0.15)
    assert by_window[2] * rate == pytest.approx(10, rel=0.05)
    assert by_window[8] == 1  # nobody had anything to do


def test_rebalances_and_warm_ups_are_no_slowness() -> None:
    logs = replayed()
    disturbed = [*logs.members["m2"], at(12.05, "joined", 1, generation=2), opened(12.05, 12.29, 1)]
    # All it does from 12.1 s on happens a second later.
    late = [
        replace(e, t=e.t + S, began=e.began + S) if e.event == "done" and e.t > 12.05 * S else e
        for e in disturbed
    ]
    late.sort(key=lambda entry: entry.t)
    there, _ = pace(logs, 2, 10 * S, 20 * S)
    rate, _ = pace(replace(logs, members={**logs.members, "m2": late}), 2, 10 * S, 20 * S)
    assert rate == pytest.approx(there, rel=0.05)


def test_a_run_in_which_nobody_was_busy_tells_nothing() -> None:
    with pytest.raises(KafkaAssignorsError, match="no member had enough to read"):
        recording("range", replayed(), replace_batch(25))


def test_a_run_that_began_without_an_owner_is_refused() -> None:
    logs = replayed()
    members = {**logs.members, "m2": [e for e in logs.members["m2"] if e.event != "assigned"]}
    with pytest.raises(KafkaAssignorsError, match="partitions had no owner when the work began"):
        recording("range", replace(logs, members=members), replace_batch(1))
