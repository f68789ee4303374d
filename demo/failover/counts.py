"""The members' counts, read from their stores, compared with those of the producer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from demo.failover.counting import LINE, LineCount
from demo.failover.results import CountsResult
from kafka_assignors.errors import KafkaAssignorsError
from kafka_assignors.stateful import StateDir, Stores

Stored = dict[bytes, LineCount]  # by the line's key in the store


def compare_counts(
    result: CountsResult,
    store_dirs: Iterable[Path],
    group: str,
    ends: Mapping[int, int],
    sent: Counter[bytes],
) -> None:
    """Complete ``result`` from the stores of all members and the number of records ``sent``, by line.

    ``ends`` are the changelog's end offsets, by task.
    """
    try:
        stored = read_stores(result, store_dirs, group, ends)
    except KafkaAssignorsError as error:  # the measurements must survive it
        result["differences"].append(f"the stores cannot be read: {error}")
        return
    result["records"], result["lines"] = sent.total(), len(stored)
    result["counted"] = sum(count.times for count in stored.values())
    result["doubles"] = sum(count.doubles for count in stored.values())
    result["differences"] += differences(stored, sent)
    if result["doubles"] > result["again"]:
        result["differences"].append(
            f"{result['doubles']:,} doubles in the counts, but only {result['again']:,} records were "
            "processed again"
        )


def read_stores(
    result: CountsResult, store_dirs: Iterable[Path], group: str, ends: Mapping[int, int]
) -> Stored:
    """Return the counts in all copies that are at the end of their changelog; copies of a task must be equal.

    ``result`` gets the number of these copies, and the differences between them.
    """
    by_task: dict[int, Stored] = {}
    stores = Stores()
    for store_dir in filter(Path.is_dir, store_dirs):
        with StateDir(store_dir, group) as state_dir:
            for task, checkpoint in sorted(state_dir.tasks().items()):
                if not isinstance(checkpoint, dict) or not checkpoint:
                    continue
                [position] = checkpoint.values()
                if position.offset != ends[task[1]]:
                    continue
                with state_dir.claim(task) as claimed, stores.open(claimed.store_path) as store:
                    counts = {key: LineCount.unpacked(value) for key, value in store.prefix(LINE)}
                result["copies"] += 1
                if by_task.setdefault(task[1], counts) != counts:
                    result["differences"].append(f"two copies of task {task[1]} differ")
    if missing := [str(task) for task in ends if task not in by_task]:
        result["differences"].append(f"no copy is at the end of its changelog, of task {', '.join(missing)}")
    # All records of a destination are in one partition, so a line belongs to one task.
    return {key: count for counts in by_task.values() for key, count in counts.items()}


def differences(stored: Stored, sent: Counter[bytes]) -> Iterator[str]:
    """Yield each line whose count, less its doubles, is not the number of its records."""
    for key in sorted(stored.keys() | {LINE + line for line in sent}):
        line, (times, doubles, _) = key.removeprefix(LINE), stored.get(key, LineCount())
        if times - doubles != sent[line]:
            text = f"{times:,}" + (f" less {doubles:,} doubles" if doubles else "")
            yield f"line {line.decode()}: {text} counted, {sent[line]:,} in the topic"
