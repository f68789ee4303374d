"""The lines and tables of ``watch``, without a terminal."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from kafka_assignors.cli.watch_group.frame import Frame, Sort
from kafka_assignors.cli.watch_group.history import RebalanceHistory, Snapshot
from kafka_assignors.cli.watch_group.source import GroupLag, Observation
from kafka_assignors.cli.watch_group.text import middle, rebalance_lines, spans
from kafka_assignors.lag.fetch.group import GroupState
from tests.unit.cli.watch_group.watched import START, THREE, TWO, UUID, look, member, snapshot, tps


def frame(*looks: Observation, **fields: Any) -> Frame:
    history = RebalanceHistory()
    for current in looks:
        history.add(current.snapshot)
    rebalances = tuple(history.rebalances)
    return Frame(looks[-1], history.owners, rebalances, START, history.rebalancing_s, **fields)


def head(current: Frame, width: int = 80, now_s: float = START) -> str:
    return "\n".join(line.plain for line in current.head(width, frozen=False, now_s=now_s))


def log(current: Frame, width: int = 80) -> str:
    lines = [line for r in reversed(current.rebalances) for line in rebalance_lines(r, width, START)]
    return "\n".join(line.plain for line in lines)


def test_partitions_are_listed_as_ranges_and_long_names_keep_begin_and_end() -> None:
    assert spans(tps("b-9", "a-3", "a-1", "a-2", "a-7", "a-10")) == "a 1-3,7,10; b 9"
    assert (spans([]), middle("a-client-1", 10), middle("a-client-10", 8)) == ("", "a-client-1", "a-cl…-10")


LATER = tuple(replace(member, generation=4) for member in TWO)
LEFT = replace(TWO[0], owned=(*TWO[0].owned, *TWO[1].owned), generation=4)
RESTARTED = [snapshot(at, member(f"a-{at}", "orders-0", instance="a")) for at in (0, 1)]


@pytest.mark.parametrize(
    ("looks", "text"),
    [
        (
            [snapshot(0, *TWO), snapshot(1, LEFT)],
            "left or lost (worker-2-9a8b7c6d); 3 moved, within 1 s\n"
            "  orders 2-3; payments 1  worker-2-9a8b7c6d → worker-1-1f0c2d34: its owner is gone",
        ),
        (
            [snapshot(0, *TWO), snapshot(1, *LATER)],
            "unknown: neither members, subscriptions nor topics have changed; 0 moved",
        ),
        (
            [snapshot(0, *TWO), snapshot(2, *TWO, state="PreparingRebalance"), snapshot(5, *THREE)],
            "took about 3 s, 2 generations",
        ),
        ([snapshot(0, *TWO, strategy="range"), snapshot(1, *THREE)], "range → cooperative-sticky"),
        (RESTARTED, "12:00:01  restarted (a); perhaps without a rebalance"),
    ],
    ids=["missing member", "unknown cause", "known begin", "other strategy", "static member restarted"],
)
def test_log_explains_a_rebalance(looks: list[Snapshot], text: str) -> None:
    assert text in log(frame(*map(look, looks)), width=100)


def test_change_that_may_have_been_no_rebalance_is_called_a_change() -> None:
    current = frame(*map(look, RESTARTED))
    assert "last change 12:00:01, perhaps without a rebalance: restarted (a)" in head(current)


def test_name_of_a_topic_that_grew_is_whole() -> None:
    """A member id is cut, because the broker appends a UUID to it."""
    name = f"t-1f0c2d34{UUID}"
    before, after = (
        [replace(each, topics=frozenset({name})) for each in members] for members in (TWO, LATER)
    )
    grown = (look(snapshot(at, *each, topics={name: 4 + at})) for at, each in enumerate((before, after)))
    assert f"topic-grew ({name}: 4 to 5)" in log(frame(*grown), width=200)


def test_rebalance_of_another_day_has_its_date() -> None:
    current = frame(look(snapshot(0, *TWO)), look(snapshot(2, *THREE)))
    (line, *_) = rebalance_lines(current.rebalances[0], 80, START + 13 * 3600)
    assert line.plain.startswith("2026-11-21 12:00:02  joined")
    assert "last rebalance 2026-11-21 12:00:02, 2 moved" in head(current, now_s=START + 13 * 3600)
    assert "last rebalance 12:00:02, 2 moved" in head(current, now_s=START + 11 * 3600)


def test_large_rebalance_lists_the_largest_moves() -> None:
    before = [member(f"m{n:02}", f"orders-{n}") for n in range(30)]
    after = [member(f"m{n:02}", f"orders-{(n + 1) % 30}") for n in range(30)]
    lines = log(frame(look(snapshot(0, *before)), look(snapshot(1, *after)))).splitlines()
    assert len(lines) == 1 + 20 + 1
    assert lines[-1] == "  … and 10 more partitions"


def test_partition_without_known_lag_leaves_a_mark() -> None:
    view = look(snapshot(0, *TWO), problem="lag of 1 partition unknown, such as payments-0: denied")
    partial = replace(view, lag=replace(view.lag, lags=dict.fromkeys(tps("orders-0", "orders-1"), 5)))
    (first, second) = frame(partial).members(Sort.NAME, 80).cells
    assert (first[3], second[3]) == ("10+?", "?")
    assert "payments-0: denied" in head(frame(partial))


def test_lag_not_read_yet_is_a_question_mark() -> None:
    current = frame(replace(look(snapshot(0, *TWO)), lag=GroupLag()))
    assert [cells[3] for cells in current.members(Sort.NAME, 80).cells] == ["?", "?"]
    assert head(current).splitlines()[1].endswith("lag ?")
    assert len(head(current).splitlines()) == 3


def test_old_lag_shows_its_age() -> None:
    first = look(snapshot(0, *TWO), problem="lag not read: no answer")
    later = [look(snapshot(at_s, *TWO)).with_lag(first.lag) for at_s in (3, 4)]
    assert "lag read" not in head(frame(later[0]), now_s=START + 3)
    assert "\nlag read 4 s ago: lag not read: no answer" in head(frame(later[1]), now_s=START + 4)
    assert "lag read" not in head(frame(later[1], interval_s=2.0), now_s=START + 4)


def test_commits_that_do_not_count_are_not_shown() -> None:
    view = snapshot(0, *TWO)
    current = look(replace(view, group=replace(view.group, commits=dict.fromkeys(tps("old-0"), 5))))
    assert "old-0" not in str(frame(current).partitions(Sort.NAME, 80).cells)
    assert "6 partitions of 2 topics" in head(frame(current))


def test_unreadable_assignment_is_marked() -> None:
    current = frame(look(snapshot(0, replace(TWO[0], owned=(), readable=False))))
    assert current.members(Sort.NAME, 80).cells[0][2:4] == ["?", "?"]
    assert "cannot be read" in head(current)


def test_group_of_the_new_protocol_has_an_epoch() -> None:
    group = GroupState("billing", "Consumer", "uniform", TWO, {}, epoch=7, new_state="Reconciling")
    current = frame(look(replace(snapshot(0), group=group)))
    assert "billing  Reconciling  uniform  epoch 7 (KIP-848)" in head(current)
    assert current.rebalancing_s == START
    unknown = GroupState("billing", "Consumer", "", (), {})
    shown = head(frame(look(replace(snapshot(0), group=unknown))))
    assert "does not describe the members of this group" in shown


def test_owners_of_partitions_are_shortened_in_the_middle() -> None:
    """Their ids differ at the end."""
    long = [member(f"my-application-client-7-{n}a2b3c4d", f"orders-{n}") for n in range(2)]
    rows = frame(look(snapshot(0, *long))).partitions(Sort.NAME, 44)
    names = [cells[2] for cells in rows.cells if cells[2] != "-"]
    assert len({*names}) == 2


def test_owners_during_a_rebalance_are_those_before_it() -> None:
    rebalancing = replace(snapshot(1), group=replace(snapshot(1).group, state="PreparingRebalance"))
    current = frame(look(snapshot(0, *TWO)), look(rebalancing))
    assert [column.name for column in current.partitions(Sort.OWNER, 80).columns][-1] == "member before ▼"


def test_hosts_are_shortened_if_names_are_no_wider_than_their_title() -> None:
    narrow = [replace(member, client_id="m", member_id=f"m{n}") for n, member in enumerate(TWO)]
    rows = frame(look(snapshot(0, *narrow))).members(Sort.NAME, 40)
    assert [(column.name, column.width) for column in rows.columns[:2]] == [("member ▼", 8), ("host", 4)]
    assert sum(column.width + 2 for column in rows.columns) == 40


@settings(max_examples=60)
@given(
    sort=st.sampled_from(Sort),
    names=st.lists(st.text("ab-é漢", min_size=1, max_size=90), min_size=1, max_size=4, unique=True),
    width=st.sampled_from([60, 80, 140]),
)
def test_every_line_fits_into_the_terminal(sort: Sort, names: list[str], width: int) -> None:
    before = [member(name + UUID, f"orders-{n}", host=name) for n, name in enumerate(names)]
    after = [member(name + UUID, f"orders-{n + 1}", host=name) for n, name in enumerate(names)]
    current = frame(look(snapshot(0, *before)), look(snapshot(1, *after)), trouble="x" * 200)
    for line in current.head(width, frozen=True, now_s=START):
        assert line.cell_len <= width
    for rows in (current.members(sort, width), current.partitions(sort, width)):
        assert sum(column.width + 2 for column in rows.columns) <= width
        for cells in rows.cells:
            for cell, column in zip(cells, rows.columns, strict=True):
                assert cell_len(cell) <= column.width
    for line in list(rebalance_lines(current.rebalances[0], width, START))[1:]:
        assert line.cell_len <= width
