"""One group of our members and of the published Java assignor's; either may lead or be active.

Needs a JDK for the Java member, and fails without one on CI.  Elsewhere, with a runtime only, the bytes taken
from Java (``tests/golden``) stand for it, and the reason is in the summary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bench.javapeer import NoJavaError
from tests.integration.conftest import FreshNames
from tests.integration.foreign.processes import ForeignMember, java_command, java_program
from tests.integration.groups.failover.active_passive import assert_only_the_active_works, join
from tests.integration.groups.records import Producing, each_once, processed
from tests.integration.members import Group, Member
from tests.support.quick import long

PARTITIONS = 4
Start = Callable[[Group, int], ForeignMember]


@pytest.fixture(scope="module")
def class_path(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The launcher and the class path with the Java member."""
    try:
        return java_program(tmp_path_factory.mktemp("java"), "FailoverAssignor", "GroupMember")
    except NoJavaError as reason:
        pytest.skip(f"no Java member, its bytes are compared in tests/golden: {reason}")


@pytest.fixture
def java_member(class_path: tuple[Path, str]) -> Iterator[Start]:
    """Starts Java members, and kills them at the end."""
    started: list[ForeignMember] = []
    java, classes = class_path

    def start(group: Group, priority: int) -> ForeignMember:
        properties = [
            "partition.assignment.strategy=FailoverAssignor",
            f"assignment.consumer.priority={priority}",
        ]
        started.append(ForeignMember("java", java_command(java, classes, group, *properties)))
        return started[-1]

    yield start
    for member in started:
        member.kill()


def owns(member: Member, count: int) -> bool:
    """Whether it has that many partitions, and is in a group that has settled."""
    state = member.state()
    return state is not None and not state.facts["joining"] and len(state.partitions) == count


def there(group: Group) -> int:
    """Return the number of members of a stable group."""
    described = group.describe()
    return len(described["members"]) if described["group_state"] == "Stable" else 0


def records(java: ForeignMember) -> set[tuple[int, int]]:
    """Return partition and offset of the records that Java processed."""
    words = [line.split() for line in java.lines if line.startswith("record ")]
    return {(int(partition), int(offset)) for _, partition, offset in words}


@pytest.mark.parametrize("java_leads", [True, long(False)], ids=["Java leads", "we lead"])
def test_java_and_python_members_agree_on_the_active_member(
    fresh: FreshNames, java_member: Start, java_leads: bool
) -> None:
    """The higher priority is active, and when it is killed the other one takes over.

    Java, which leads, reads the priority in front of what we write behind it.
    """
    with Group(fresh, PARTITIONS) as group:
        with Producing(group) as producing:
            if java_leads:
                java = java_member(group, 5)
                java.wait_for("record")
                ours = join(group, 10)
                group.wait_until(lambda: owns(ours, PARTITIONS), "ours to take over")
                ours.wait_for("processed")
                third = join(group, 3)  # so ours reports its former partitions
                group.wait_until(lambda: there(group) == 3 and owns(third, 0), "the third to stand by")
                ours.wait_for("processed", since=len(ours.events))
                third.close()
                group.wait_until(lambda: there(group) == 2 and owns(ours, PARTITIONS), "it to be gone")
                ours.kill()
                java.wait_for("record", since=len(java.lines))
                ours = join(group, 1)
                group.wait_until(lambda: there(group) == 2 and owns(ours, 0), "ours to stand by")
                java.wait_for("record", since=len(java.lines))
            else:
                ours = join(group, 5)
                ours.wait_for("processed")
                java = java_member(group, 10)
                java.wait_for("record")
                group.wait_until(lambda: owns(ours, 0), "ours to stand by")
                since = len(ours.events)
                java.kill()
                ours.wait_for("processed", since=since)
                group.wait_until(lambda: owns(ours, PARTITIONS), "ours to take over")
        everything = {(tp.partition, offset) for tp, offset in each_once(producing.ends)}

        def done() -> bool:
            ours_too = {(tp.partition, offset) for tp, offset in processed(*group.members)}
            return records(java) | ours_too >= everything

        group.wait_until(done, "all records")
        assert_only_the_active_works(group.members)
