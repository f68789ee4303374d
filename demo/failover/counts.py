"""The members' counts, read from their stores, compared with those of the topic."""

from __future__ import annotations

from collections import Counter as Tallied
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from demo.failover.acts import TASKS
from demo.failover.counting import CARRIER, DESTINATION, Counter
from demo.failover.flow import Tally
from demo.failover.results import CountsResult
from kafka_assignors.errors import KafkaAssignorsError
from kafka_assignors.stateful import StateDir, Store, Stores

Counters = dict[bytes, Counter]


@dataclass(slots=True)
class Stored:
    """Counts in the stores: by key, times counted and how many of these were doubles."""

    carriers: dict[str, tuple[int, int]] = field(default_factory=dict)
    destinations: dict[str, tuple[int, int]] = field(default_factory=dict)
    copies: int = 0  # at the end of their changelog
    wrong: list[str] = field(default_factory=list)


def read_stores(store_dirs: Iterable[Path], group: str, ends: Mapping[int, int]) -> Stored:
    """Read each copy that is at the end of its changelog; copies of one task must be equal.

    Args:
        store_dirs: of all members; an absent one is skipped.
        group: the group.
        ends: task -> end offset of its changelog.

    Raises:
        StateError: a store cannot be read.
    """
    of_task: dict[int, Counters] = {}
    stored, stores = Stored(), Stores()
    for store_dir in filter(Path.is_dir, store_dirs):
        with StateDir(store_dir, group) as state_dir:
            for task, checkpoint in sorted(state_dir.tasks().items()):
                if not isinstance(checkpoint, dict) or not checkpoint:
                    continue
                [position] = checkpoint.values()
                if position.offset != ends[task[1]]:
                    continue
                with state_dir.claim(task) as claimed, stores.open(claimed.store_path) as store:
                    counters = _counters(store)
                stored.copies += 1
                if of_task.setdefault(task[1], counters) != counters:
                    stored.wrong.append(f"two copies of task {task[1]} differ")
    if missing := [str(task) for task in range(TASKS) if task not in of_task]:
        stored.wrong.append(f"no copy is at the end of its changelog, of task {', '.join(missing)}")
    stored.carriers = _summed(of_task.values(), CARRIER)
    stored.destinations = _summed(of_task.values(), DESTINATION)
    return stored


def _counters(store: Store) -> Counters:
    return {
        key: Counter.unpacked(value)
        for prefix in (CARRIER, DESTINATION)
        for key, value in store.prefix(prefix)
    }


def _summed(tasks: Iterable[Counters], prefix: bytes) -> dict[str, tuple[int, int]]:
    counts: Tallied[str] = Tallied()
    doubles: Tallied[str] = Tallied()
    for counters in tasks:
        for key, counter in counters.items():
            if key.startswith(prefix):
                name = key[len(prefix) :].decode()
                counts[name] += counter.times
                doubles[name] += counter.doubles
    return {name: (counts[name], doubles[name]) for name in sorted(counts)}


def compare_counts(
    counts: CountsResult, read: Callable[[], Stored], count: Callable[[], Tally], by: str
) -> None:
    """Complete ``counts`` from stores and topic; an error becomes its fault.

    Args:
        counts: completed here.
        read: reads the stores.
        count: counts the topic's records.
        by: name of the counter.
    """
    counts["by"] = by
    try:
        stored, tally = read(), count()
    except KafkaAssignorsError as error:
        counts["fault"] = str(error)
        return
    except Exception as error:  # of Spark or ours: the measurements must survive it
        counts["fault"] = " ".join(f"{type(error).__name__}: {error}".split())[:300]
        return
    both = (stored.carriers, stored.destinations)
    counts["records"] = tally.records
    counts["carriers"], counts["destinations"] = len(stored.carriers), len(stored.destinations)
    counts["counted"] = [sum(times for times, _ in kind.values()) for kind in both]
    counts["doubles"] = [sum(doubles for _, doubles in kind.values()) for kind in both]
    counts["copies"] = stored.copies
    counts["differences"] = [
        *stored.wrong,
        *differences("carrier", stored.carriers, tally.carriers),
        *differences("destination", stored.destinations, tally.destinations),
    ]
    if max(counts["doubles"]) > counts["again"]:
        counts["differences"].append(
            f"{max(counts['doubles']):,} doubles in the counts, but only {counts['again']:,} records were "
            "processed again"
        )


def differences(what: str, stored: Mapping[str, tuple[int, int]], topic: Tallied[str]) -> Iterator[str]:
    """Yield each key whose count, less its doubles, is not the number of its records."""
    for key in sorted(stored.keys() | topic.keys()):
        count, doubles = stored.get(key, (0, 0))
        if count - doubles != topic[key]:
            text = f"{count:,}" + (f" less {doubles:,} doubles" if doubles else "")
            yield f"{what} {key}: {text} counted, {topic[key]:,} in the topic"
