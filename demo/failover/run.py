"""The scene on a topic of its own: performed, measured, counted; nothing of it is left on the broker."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from contextlib import closing, suppress

from demo.data.events import Flight
from demo.failover.acts import FIRST, NEWCOMER, RATE, TASKS, acts, changelog_of
from demo.failover.checks import differences
from demo.failover.counts import Stored, read_stores
from demo.failover.flow import Tally
from demo.failover.measure import measure_events, times_done_again
from demo.failover.results import CountsResult, FailoverResult
from demo.failover.scene import perform
from demo.failover.stage import STEPS, FailoverStage, Ground
from demo.failover.timeline import Logs
from demo.figures import processing
from demo.figures.measure import NS
from demo.group.cluster import Cluster
from demo.group.work import Work
from demo.scenes.stage import View
from kafka_assignors.broker import Progress
from kafka_assignors.errors import BrokerError, KafkaAssignorsError


def run_failover(
    ground: Ground, flights: Sequence[Flight], first: int, view: View, *, by_spark: bool
) -> FailoverResult:
    """Run the scene from the first join to the comparison of the counts.

    Args:
        ground: where.
        flights: those to begin with, and those that follow.
        first: how many there are to begin with.
        view: is told of the progress.
        by_spark: whether Spark counts what is in the topic; else the producer's own count has to do.

    Raises:
        KafkaAssignorsError: a member died by itself, or something took too long.
        BrokerError: the broker ended or refused.
    """
    cluster, group = Cluster(ground.bootstrap), ground.topic
    with closing(cluster):
        cluster.create_topic(ground.topic, TASKS)
        try:
            with closing(FailoverStage(ground, view, cluster)) as stage:
                perform(stage, flights, first)
                stage.say("compare the counts", "comparing the counts")
                ends = cluster.end_offsets(changelog_of(group), TASKS)
                size = stage.changelog_bytes()
                logs = stage.logs()
                result = _measured(logs, ground, first, ends, size)
                _, warm = acts(first)
                folders = [ground.state / warm.store_dir(member) for member in (*FIRST, NEWCOMER)]
                compare_counts(
                    result["counts"],
                    lambda: read_stores(folders, group, ends),
                    (lambda: _by_spark(stage)) if by_spark else (lambda: stage.ledger.tally),
                    "Spark" if by_spark else "the producer",
                )
                return result
        finally:
            shutil.rmtree(ground.state, ignore_errors=True)
            with suppress(BrokerError):
                ground.check_broker()
                cluster.delete([ground.topic, changelog_of(group)], [group])


def _measured(logs: Logs, ground: Ground, first: int, ends: dict[int, int], size: int) -> FailoverResult:
    end, counted = logs.of_driver("end"), logs.of_driver("counted")
    sent = processing.sent_by_partition(logs.driver)
    members = {"/".join(name): log for name, log in logs.members.items()}
    books = processing.account(sent, processing.stretches(members, end.t))
    began = min(entry.t for entries in sent.values() for entry in entries)
    return FailoverResult(
        flights=first,
        tasks=TASKS,
        rate=RATE,
        counting=round((counted.t - began) / NS, 3),
        bytes_counted=int(counted.note),
        bytes=size,
        changelog=sum(ends.values()),
        sent=books.produced,
        processed=books.processed,
        lost=books.lost,
        fault=end.note,
        events=measure_events(logs, ground.session_timeout_ms / 1e3),
        counts=CountsResult(
            by="",
            records=0,
            carriers=0,
            destinations=0,
            counted=[0, 0],
            doubles=[0, 0],
            again=times_done_again(logs),
            copies=0,
            differences=[],
            fault="",
        ),
    )


def compare_counts(
    counts: CountsResult, read: Callable[[], Stored], count: Callable[[], Tally], by: str
) -> None:
    """Set what is in the stores beside what is in the topic; what goes wrong with that is a fault of it.

    Args:
        counts: completed here.
        read: reads the stores.
        count: counts what there is.
        by: who that is.
    """
    counts["by"] = by
    try:
        stored, tally = read(), count()
    except KafkaAssignorsError as error:
        counts["fault"] = str(error)
    except Exception as error:  # of Spark or ours: what was measured must not go with it
        counts["fault"] = " ".join(f"{type(error).__name__}: {error}".split())[:300]
    else:
        _set_beside(counts, stored, tally)


def _by_spark(stage: FailoverStage) -> Tally:
    from demo.failover.from_topic import count_with_spark

    def heard(progress: Progress) -> None:
        stage.view.work(Work("the failover", STEPS, stage.step, progress.step, progress.done, progress.total))

    return count_with_spark(stage.ground.bootstrap, stage.ground.topic, heard)


def _set_beside(counts: CountsResult, stored: Stored, tally: Tally) -> None:
    both = (stored.carriers, stored.destinations)
    counts["records"] = tally.records
    counts["carriers"], counts["destinations"] = len(stored.carriers), len(stored.destinations)
    counts["counted"] = [sum(count for count, _ in kind.values()) for kind in both]
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
