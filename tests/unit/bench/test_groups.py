"""Groups and plans survive their files, and everybody's history is in what its members send."""

from __future__ import annotations

from pathlib import Path

import pytest
from kafka.protocol.consumer.metadata import ConsumerProtocolSubscription

from bench.groups import ASSIGNORS, Senders, read_group, read_plan, write_plan
from bench.problems import Problem
from tests.support.joining import cluster, joined

PROBLEM = Problem("tiers", 6, 4, 5)


@pytest.mark.parametrize("kind", ASSIGNORS)
def test_a_leader_that_reads_the_file_keeps_what_everybody_had(kind: str, tmp_path: Path) -> None:
    base, group, plan = (tmp_path / name for name in ("base", "group", "plan"))
    for phase, out in (("fresh", base), ("stable", plan)):
        moment = PROBLEM.at(phase, read_plan(base) if phase == "stable" else {})
        Senders().write(group, kind, moment)
        counts, sent = read_group(group)
        assert counts == moment.counts
        subscriptions = {m: ConsumerProtocolSubscription.decode(data) for m, data in sent.items()}
        assert {m: sorted(s.topics) for m, s in subscriptions.items()} == moment.subscriptions
        members = [joined(m, subscription) for m, subscription in subscriptions.items()]
        assigned = ASSIGNORS[kind]().assign(cluster(counts), members)
        write_plan(out, {m: assignment.encode() for m, assignment in assigned.items()})
    before, after = read_plan(base), read_plan(plan)
    assert sum(len(numbers) for topics in before.values() for numbers in topics.values()) == PROBLEM.total
    assert before == after
