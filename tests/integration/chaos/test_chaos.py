"""Groups of every family live through seeded faults, and lose nothing."""

from __future__ import annotations

import gc
import logging
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from tests.integration.chaos import checks
from tests.integration.chaos.crowd import SESSION_S
from tests.integration.chaos.plain import Family
from tests.integration.chaos.play import play
from tests.integration.chaos.schedule import Fault
from tests.integration.conftest import FAULTS

SEED = "KAFKA_ASSIGNORS_CHAOS_SEED"
QUICK_S = 60.0  # of faults; starting, settling and judging take as long again
LONG_S = 240.0
LONG_RUNS = 12

FAMILIES = (
    Family("cooperative-sticky"),
    Family("cooperative-sticky", consumer="kafka_assignors.ContinuousConsumer"),
    Family("sticky"),
    Family("cooperative-lag-aware"),
    Family("failover", checks.one_has_all),
)
# By turns with the first ones in the long runs.
OTHER_FAMILIES = (
    Family("range"),
    Family("roundrobin"),
    Family("fair"),
    Family("lag-aware"),
    Family("fairest-sticky"),
    Family("cooperative-sticky", consumer="kafka_assignors.ContinuousConsumer", is_static=True),
    Family("cooperative-lag-aware", consumer="kafka_assignors.ContinuousConsumer", busy_s=1.5 * SESSION_S),
)
Note = Callable[[str, object], None]

# kafka-python leaves sockets behind when connections are refused.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <s:ResourceWarning")


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Keep kafka-python's errors of lost connections, and with them its sockets, out of pytest's records."""
    kafka = logging.getLogger("kafka")
    before = kafka.level
    kafka.setLevel(logging.CRITICAL)
    yield
    kafka.setLevel(before)
    gc.collect()


def play_seed(seed: int, root: Path, families: Sequence[Family], faults_s: float, note: Note) -> None:
    """Play it, and have its faults counted at pytest's end."""
    steps = play(seed, root, families, faults_s=faults_s)
    played = Counter(step.fault for step in steps)
    note(FAULTS, {fault.value: played[fault] for fault in Fault})


def first_seed() -> int:
    """The seed of the quick run, and the first of the long ones."""
    return int(os.environ.get(SEED, "1"))


def test_groups_live_through_two_minutes_of_faults(tmp_path: Path, record_property: Note) -> None:
    play_seed(first_seed(), tmp_path, FAMILIES, QUICK_S, record_property)


@pytest.mark.long
@pytest.mark.parametrize("run", range(LONG_RUNS))
def test_groups_live_through_an_hour_of_faults(tmp_path: Path, record_property: Note, run: int) -> None:
    families = OTHER_FAMILIES if run % 2 else FAMILIES
    play_seed(first_seed() + run, tmp_path, families, LONG_S, record_property)
