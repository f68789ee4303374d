"""Groups of every strategy lose no record under seeded faults."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.integration.chaos import checks
from tests.integration.chaos.group import SESSION_S
from tests.integration.chaos.plain_groups import GroupConfig
from tests.integration.chaos.runner import run_chaos
from tests.integration.chaos.schedule import QUICK_S, QUICK_SEED, Fault
from tests.integration.conftest import FAULTS

SEED = "KAFKA_ASSIGNORS_CHAOS_SEED"
LONG_S = 300.0
LONG_RUNS = 12

CONFIGS = (
    GroupConfig("cooperative-sticky"),
    GroupConfig("cooperative-sticky", consumer="kafka_assignors.ContinuousConsumer"),
    GroupConfig(  # its joins begin and end between two polls, and go on during others
        "cooperative-sticky",
        consumer="kafka_assignors.ContinuousConsumer",
        busy_s=0.5 * SESSION_S,
        auto_commit=True,
    ),
    GroupConfig("sticky"),
    GroupConfig("cooperative-lag-aware"),
    GroupConfig("failover", checks.single_active),
)
OTHER_CONFIGS = (
    GroupConfig("range"),
    GroupConfig("roundrobin", auto_commit=True),
    GroupConfig("fair"),
    GroupConfig("lag-aware"),
    GroupConfig("fairest-sticky", balance=None),
    GroupConfig("cooperative-sticky", consumer="kafka_assignors.ContinuousConsumer", is_static=True),
    GroupConfig(
        "cooperative-lag-aware", consumer="kafka_assignors.ContinuousConsumer", busy_s=1.5 * SESSION_S
    ),
)
Note = Callable[[str, object], None]

pytestmark = pytest.mark.usefixtures("muted_kafka")


def run_seed(seed: int, root: Path, configs: Sequence[GroupConfig], faults_s: float, note: Note) -> None:
    """Run a seed, and count its faults in pytest's summary."""
    steps = run_chaos(seed, root, configs, faults_s=faults_s)
    counts = Counter(step.fault for step in steps)
    note(FAULTS, {fault.value: counts[fault] for fault in Fault})


def first_seed() -> int:
    """Return the seed of the quick run, and of the first long one."""
    return int(os.environ.get(SEED, str(QUICK_SEED)))


def test_groups_lose_no_record_under_half_a_minute_of_faults(tmp_path: Path, record_property: Note) -> None:
    run_seed(first_seed(), tmp_path, CONFIGS, QUICK_S, record_property)


@pytest.mark.long
@pytest.mark.parametrize("run", range(LONG_RUNS), ids=lambda run: f"{('configs', 'others')[run % 2]}-{run}")
def test_groups_lose_no_record_under_an_hour_of_faults(
    tmp_path: Path, record_property: Note, run: int
) -> None:
    run_seed(first_seed() + run, tmp_path, (CONFIGS, OTHER_CONFIGS)[run % 2], LONG_S, record_property)
