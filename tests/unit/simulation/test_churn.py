from __future__ import annotations

import pytest

from kafka_assignors.errors import OptionError
from kafka_assignors.simulation.churn import ChurnStep, client_id, first_members, parse_churn, rehearse


def test_steps_are_sorted_by_time() -> None:
    assert parse_churn(" kill@40, join@12.5 ,leave@26") == (
        ChurnStep("join", 12.5),
        ChurnStep("leave", 26),
        ChurnStep("kill", 40),
    )


@pytest.mark.parametrize(
    "script", ["join@1000001,leave@1000004", "join@0.25,kill@1209599.999", "join@100,leave@123456.789"]
)
def test_script_has_the_exact_times(script: str) -> None:
    assert ",".join(map(str, parse_churn(script))) == script


def test_empty_churn_has_no_steps() -> None:
    assert parse_churn("") == ()


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("stop@3", "expected one of join@SECONDS, leave@SECONDS, kill@SECONDS, got 'stop@3'"),
        ("join", "expected seconds above 0 after join@, got ''"),
        ("join@soon", "expected seconds above 0 after join@, got 'soon'"),
        ("join@0", "expected seconds above 0 after join@, got '0'"),
        ("join@nan", "expected seconds above 0 after join@, got 'nan'"),
        ("join@inf", "expected seconds above 0 after join@, got 'inf'"),
        ("join@3,kill@3", "two steps at the same time"),
    ],
)
def test_invalid_churn_is_refused(script: str, message: str) -> None:
    with pytest.raises(OptionError, match="churn") as caught:
        parse_churn(script)
    assert message in str(caught.value)


def test_join_adds_a_new_name_and_leave_and_kill_take_the_oldest_member() -> None:
    acts = rehearse(parse_churn("join@1,leave@2,kill@3,join@4"), 4)
    assert [str(act) for act in acts] == ["join m5", "leave m1", "kill m2", "join m6"]


def test_churn_that_leaves_no_member_is_refused() -> None:
    assert first_members(2) == ("m1", "m2")
    with pytest.raises(OptionError, match="kill@2 would leave the group without a member"):
        rehearse(parse_churn("leave@1,kill@2"), 2)


def test_client_ids_do_not_sort_by_age() -> None:
    names = [client_id(f"m{number}") for number in range(1, 7)]
    assert names != sorted(names)
    assert all(name.endswith(f"-m{number}") for number, name in enumerate(names, 1))
