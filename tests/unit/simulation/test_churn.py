from __future__ import annotations

import pytest

from kafka_assignors.errors import OptionError
from kafka_assignors.simulation.churn import Step, client_id, first_members, parse, present_after, rehearse


def test_steps_are_sorted_by_time() -> None:
    assert parse(" kill@40, join@12.5 ,leave@26") == (Step("join", 12.5), Step("leave", 26), Step("kill", 40))


def test_empty_churn_has_no_steps() -> None:
    assert parse("") == ()


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("stop@3", "'stop@3': not one of join@SECONDS, leave@SECONDS, kill@SECONDS"),
        ("join", "'' is not a number of seconds"),
        ("join@soon", "'soon' is not a number of seconds"),
        ("join@0", "the time must be above 0"),
        ("join@nan", "the time must be above 0"),
        ("join@inf", "the time must be above 0"),
        ("join@3,kill@3", "two steps at the same time"),
    ],
)
def test_invalid_churn_is_refused(script: str, message: str) -> None:
    with pytest.raises(OptionError, match="churn") as caught:
        parse(script)
    assert message in str(caught.value)


def test_join_adds_a_new_name_and_leave_and_kill_take_the_oldest_member() -> None:
    acts = rehearse(parse("join@1,leave@2,kill@3,join@4"), 4)
    assert [str(act) for act in acts] == ["join m5", "leave m1", "kill m2", "join m6"]
    assert present_after(acts, 4) == ("m3", "m4", "m5", "m6")


def test_churn_that_leaves_no_member_is_refused() -> None:
    assert first_members(2) == ("m1", "m2")
    with pytest.raises(OptionError, match="kill@2 would leave the group without a member"):
        rehearse(parse("leave@1,kill@2"), 2)


def test_client_ids_do_not_sort_by_age() -> None:
    names = [client_id(f"m{number}") for number in range(1, 7)]
    assert names != sorted(names)
    assert all(name.endswith(f"-m{number}") for number, name in enumerate(names, 1))
