"""The laws of KIP-441, on groups with arbitrary claims."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kafka_assignors.plan.stateful import StatefulGroup, TaskPlanOptions, plan_stateful
from tests.support.plan.stateful_laws import any_groups, any_options, check, shuffled


@given(any_groups(), any_options())
def test_every_plan_keeps_the_laws(group: StatefulGroup, options: TaskPlanOptions) -> None:
    check(group, options, plan_stateful(group, options))


@given(any_groups(), any_options(), st.integers(0, 2**32))
def test_plans_do_not_depend_on_the_order_of_input(
    group: StatefulGroup, options: TaskPlanOptions, seed: int
) -> None:
    assert plan_stateful(shuffled(group, seed), options) == plan_stateful(group, options)
