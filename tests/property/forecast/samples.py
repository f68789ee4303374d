"""Random samples of a partition: steady, wild, and of two writers."""

from __future__ import annotations

from hypothesis import strategies as st

from kafka_assignors.forecast import NO_COMMIT, UNKNOWN, LoadSettings, Sample
from kafka_assignors.forecast.settings import SECOND

SETTINGS = LoadSettings(step_s=60, horizon_s=300, delay_s=200, max_gap_s=600)
START = 1_384_000_200 * SECOND


@st.composite
def steady(draw: st.DrawFn) -> list[Sample]:
    """A growing log, a group that only moves forward, samples at most ten minutes apart."""
    looks = draw(
        st.lists(
            st.tuples(st.integers(1, 600 * SECOND), st.integers(0, 10_000), st.integers(0, 10_000)),
            min_size=2,
            max_size=40,
        )
    )
    time, end, committed, samples = START, 0, 0, []
    for apart, arrived, served in looks:
        time, end = time + apart, end + arrived
        committed = min(end, committed + served)
        samples.append(Sample(time, 0, end, committed))
    return samples


@st.composite
def wild(draw: st.DrawFn) -> list[Sample]:
    """Any behaviour of a cluster, its users and their clocks, in the order of time."""
    looks = draw(
        st.lists(
            st.tuples(
                st.integers(0, 3_000 * SECOND),
                st.sampled_from([-2, 0, 5, 1_000]),
                st.one_of(st.just(-2), st.integers(0, 5_000)),
                st.one_of(st.sampled_from([-2, NO_COMMIT]), st.integers(0, 6_000)),
            ),
            max_size=40,
        )
    )
    time, samples = START, []
    for apart, *offsets in looks:
        time += apart
        samples.append(Sample(time, *offsets))
    return samples


@st.composite
def two_writers(draw: st.DrawFn) -> list[Sample]:
    """A group that only moves forward, its commits recorded by one clock and sampled by another."""
    seconds = st.integers(0, 90)
    made, offset, commits = 0, 0, [(0, 0)]
    for apart, served in draw(st.lists(st.tuples(seconds, st.integers(0, 1_000)), max_size=20)):
        made, offset = made + apart, offset + served
        commits.append((made, offset))
    clock, answered = draw(st.integers(-14, 14)), draw(st.integers(0, 14))
    samples = [
        Sample(START + (at + clock) * SECOND, UNKNOWN, UNKNOWN, committed) for at, committed in commits
    ]
    at = 0
    for apart in draw(st.lists(seconds, max_size=20)):
        at += apart
        newest = max((offset for made, offset in commits if made <= at - answered), default=NO_COMMIT)
        samples.append(Sample(START + at * SECOND, 0, 100_000, newest))
    return sorted(samples)
