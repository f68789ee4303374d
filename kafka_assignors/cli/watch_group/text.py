"""Texts of names, partitions, times and rebalances.  Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timezone
from itertools import groupby

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from kafka_assignors.cli.tables import counted, cut_uuids
from kafka_assignors.cli.watch_group.history import MoveReason, SeenMove, SeenRebalance
from kafka_assignors.plan import TopicPartition, shown
from kafka_assignors.plan.cause import Cause, RebalanceCause

_MOVE_LINES = 20  # maximum lines about the moves of one rebalance
_UNKNOWN = "unknown: neither members, subscriptions nor topics have changed"


def rebalance_lines(rebalance: SeenRebalance, width: int, now_s: float) -> Iterator[Text]:
    """Yield a line with the causes of a rebalance, then the lines of its moves."""
    line = Text.assemble(
        (f"{time_of_day(rebalance.time_s, now_s)}  ", "dim"), (causes_in_words(rebalance), "bold")
    )
    line.append(f"; {facts_of(rebalance)}")
    yield line
    for moves in _moves(rebalance.moves, width):
        yield Text(moves)


def label(name: str) -> str:
    """Return a member's name with the broker's UUID cut to 8 digits."""
    return cut_uuids(shown(name))


def middle(text: str, width: int) -> str:
    """Shorten a text in the middle, because ids differ at their ends."""
    if cell_len(text) <= width:
        return text
    tail = (width - 1) // 2
    return f"{set_cell_size(text, width - 1 - tail)}…{set_cell_size(text[::-1], tail)[::-1]}"


def spans(tps: Iterable[TopicPartition]) -> str:
    """List partitions by topic: ``orders 0-3,7; payments 1``."""
    topics = []
    for topic, group in groupby(sorted(tps), key=lambda tp: tp.topic):
        runs: list[list[int]] = []
        for _, partition in group:
            if runs and partition == runs[-1][-1] + 1:
                runs[-1][1:] = [partition]
            else:
                runs.append([partition])
        topics.append(f"{shown(topic)} {','.join('-'.join(map(str, run)) for run in runs)}")
    return "; ".join(topics)


def cut(text: str, width: int) -> str:
    """Shorten a text at its end."""
    return text if cell_len(text) <= width else set_cell_size(text, width - 1) + "…"


def causes_in_words(rebalance: SeenRebalance) -> str:
    """List the causes of a rebalance."""
    return ", ".join(_cause(cause) for cause in rebalance.causes)


def _cause(cause: RebalanceCause) -> str:
    if cause.cause is Cause.UNKNOWN:
        return _UNKNOWN
    if cause.cause is Cause.GONE:  # the broker does not describe whether a member left or was lost
        return cut_uuids(f"left or lost{str(cause).removeprefix('gone')}")
    return str(cause) if cause.cause.value.startswith("topic-") else cut_uuids(str(cause))


def facts_of(rebalance: SeenRebalance) -> str:
    """Return the number of moves, the duration, the number of generations, and a change of strategy."""
    if not rebalance.is_certain:
        return "perhaps without a rebalance"
    facts = [f"{len(rebalance.moves):,} moved"]
    if rebalance.began_s is None:
        facts.append(f"within {max(rebalance.time_s - rebalance.after_s, 0):.0f} s")
    else:
        facts.append(f"took about {max(rebalance.time_s - rebalance.began_s, 0):.0f} s")
    if rebalance.generations is not None and rebalance.generations > 1:
        facts.append(f"{rebalance.generations} generations")
    old, new = rebalance.strategies
    if old and new and old != new:
        facts.append(f"{shown(old)} → {shown(new)}")
    return ", ".join(facts)


def _moves(moves: Iterable[SeenMove], width: int) -> Iterator[str]:
    """Yield a line for all moves with the same owners and reason, lines with the most partitions first."""
    alike: dict[tuple[str, str, MoveReason], list[TopicPartition]] = {}
    for move in moves:
        alike.setdefault((move.old or "-", move.new or "-", move.why), []).append(move.tp)
    largest = sorted(alike.items(), key=lambda entry: -len(entry[1]))
    for (old_name, new_name, why), partitions in largest[:_MOVE_LINES]:
        old, new = label(old_name), label(new_name)
        room = width - len("     →   ") - len(why.value)
        listed = spans(partitions)
        listed = cut(listed, max(room - cell_len(old) - cell_len(new), room // 3, 8))
        names_width = max(room - cell_len(listed), 16)
        giver = middle(old, max(names_width // 2, names_width - cell_len(new)))
        taker = middle(new, names_width - cell_len(giver))
        yield f"  {listed}  {giver} → {taker}: {why.value}"
    if rest := sum(len(partitions) for _, partitions in largest[_MOVE_LINES:]):
        yield f"  … and {counted(rest, 'more partition')}"


def time_of_day(time_s: float, now_s: float) -> str:
    """Return the time of day in UTC, with the date if it is not today's."""
    then, now = (datetime.fromtimestamp(each_s, timezone.utc) for each_s in (time_s, now_s))
    return then.strftime("%H:%M:%S" if then.date() == now.date() else "%Y-%m-%d %H:%M:%S")
