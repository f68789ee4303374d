"""The commands in the docs start the benchmark; the figures that integration tests take from it are right."""

from __future__ import annotations

import importlib
import re
import signal
import sys
from collections.abc import Iterator

import pytest

from bench.pauses.figures import Delivery, Figures, Ownership, missing, owned_twice, pauses
from tests.support.examples import ROOT

PAGE = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
COMMANDS = sorted(set(re.findall(r"`[^`]*python -m (bench[.\w]*)([^`]*)`", PAGE)))


@pytest.mark.parametrize(("program", "arguments"), COMMANDS, ids=["".join(command) for command in COMMANDS])
def test_command_of_the_page_has_a_program_that_knows_its_options(program: str, arguments: str) -> None:
    """Read only: some programs need Spark or another package, and some have no ``--help``."""
    path = ROOT / program.replace(".", "/")
    source = path / "__main__.py" if path.is_dir() else path.with_suffix(".py")
    text = source.read_text(encoding="utf-8")
    assert 'if __name__ == "__main__":' in text
    outside_quotes = re.sub(r'"[^"]*"', "", arguments)
    assert [option for option in re.findall(r"--[a-z-]+", outside_quotes) if f'"{option}"' not in text] == []


@pytest.fixture
def _sigterm() -> Iterator[None]:
    """Fail the test on a SIGTERM without another handler, which would end pytest."""
    before = signal.signal(signal.SIGTERM, lambda *_: pytest.fail("no handler"))
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.mark.usefixtures("_sigterm")
@pytest.mark.parametrize(
    ("program", "step", "arguments"),
    [
        ("bench", "measure", [[]]),
        ("bench.lag.live", "day_of_flights", [[]]),
        ("bench.pauses", "ExitStack", []),
        ("bench.pipeline", "subprocess.run", [[]]),
    ],
)
def test_sigterm_is_an_exit(
    monkeypatch: pytest.MonkeyPatch, program: str, step: str, arguments: list[list[str]]
) -> None:
    monkeypatch.setattr(sys, "argv", [program])
    monkeypatch.setattr(f"{program}.__main__.{step}", lambda *_, **__: signal.raise_signal(signal.SIGTERM))
    with pytest.raises(SystemExit) as caught:
        importlib.import_module(f"{program}.__main__").main(*arguments)
    assert caught.value.code == 143


def test_records_that_no_member_delivered() -> None:
    deliveries = [Delivery(0, "a", 0, 0, 0), Delivery(1, "b", 0, 3, 3), Delivery(2, "b", 0, 2, 2)]
    assert missing(deliveries, {0: 6, 1: 1}) == 4


def every_tenth(partition: int, member: str, begin: int, end: int) -> list[Delivery]:
    """A record each tenth of a second; ``begin`` and ``end`` in tenths."""
    return [Delivery(n / 10, member, partition, n + 20, n + 20) for n in range(begin, end)]


OWNED = [Ownership(-9, "a", frozenset({0}), gained=True), Ownership(-9, "b", frozenset({1}), gained=True)]
MOVED = [
    Ownership(1.3, "a", frozenset({0}), gained=False),
    Ownership(1.4, "c", frozenset({0}), gained=True),
]


@pytest.mark.parametrize(
    ("of_0", "changes", "figures"),
    [
        (every_tenth(0, "a", -20, 31), OWNED, Figures((0.1, 0.1), ())),
        (every_tenth(0, "a", -20, -3), OWNED, Figures((3.4, 0.1), ())),
        (every_tenth(0, "a", -20, 11), OWNED, Figures((2.0, 0.1), ())),
        ([], OWNED, Figures((3.0, 0.1), ())),
        (every_tenth(0, "a", -20, 14) + every_tenth(0, "c", 20, 31), OWNED + MOVED, Figures((0.1,), (0.7,))),
        (
            every_tenth(0, "a", -20, 14) + every_tenth(0, "c", 10, 31),
            OWNED + MOVED,
            Figures((0.1,), (0.1,), 4),
        ),
    ],
    ids=["calm", "stands still from before", "from the middle", "always", "moves", "moves back"],
)
def test_pauses_of_kept_and_moved_partitions(
    of_0: list[Delivery], changes: list[Ownership], figures: Figures
) -> None:
    """Partition 1 gets records all the time."""
    measured = pauses(of_0 + every_tenth(1, "b", -20, 31), changes, 0.0, 3.0)
    assert measured.kept == pytest.approx(figures.kept)
    assert measured.moved == pytest.approx(figures.moved)
    assert measured.duplicates == figures.duplicates


def test_partitions_of_a_slow_member_are_left_out() -> None:
    """Also those from which it has delivered nothing yet."""
    deliveries = every_tenth(0, "a", -20, -3)
    assert pauses(deliveries, OWNED, 0.0, 3.0, frozenset({"a", "b"})) == Figures()
    assert pauses(deliveries, OWNED + MOVED, 0.0, 3.0, frozenset({"a", "b"})) == Figures()


def test_partition_that_is_assigned_while_another_member_owns_it() -> None:
    first = [
        Ownership(0, "a", frozenset({0, 1}), gained=True),
        Ownership(1, "a", frozenset({0}), gained=False),
    ]
    assert owned_twice([*first, Ownership(2, "b", frozenset({0, 1}), gained=True)]) == [1]
