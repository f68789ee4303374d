"""Pure: the failover's results in plain words, and its rows, for terminal and page."""

from __future__ import annotations

from demo.failover.results import EventResult, FailoverResult
from kafka_assignors.report.rows import Row, in_seconds

_KINDS = (("join", "One joins"), ("kill", "One is killed with -9"))

ROWS: tuple[Row[EventResult], ...] = (
    Row(
        "longest without progress",
        lambda e: in_seconds(e["still_max"]),
        "The longest time between two records of a task that were processed for the first time, from the "
        "event until the group had settled; maximum of the tasks.",
        "longest",
    ),
    Row(
        "median of the tasks",
        lambda e: in_seconds(e["still_p50"]),
        "The same; median of the tasks.",
        "median",
    ),
    Row(
        "in all",
        lambda e: in_seconds(e["in_all"]),
        "The sum of a task's gaps until the group settled, each minus the usual gap; mean of the tasks. "
        "Probing rebalances are included.",
        "in all",
    ),
    Row(
        "usual",
        lambda e: in_seconds(e["usual"]),
        "The longest time without progress in the calm seconds before the event; median of the tasks.",
        "usual",
    ),
    Row("tasks moved", lambda e: f"{e['moved']}", "Tasks that another member processes afterwards.", "moved"),
    Row(
        "in their changelogs",
        lambda e: f"{e['changelog']:,}",
        "Records in the changelogs of these tasks, before the event: all of their state.",
        "state",
    ),
    Row(
        "waited for",
        lambda e: f"{e['waited']:,}",
        "Records of these that the new owner applied while no member processed the task.",
        "waited",
    ),
    Row(
        "balanced after",
        lambda e: in_seconds(e["balanced"], 1),
        "Until the last change of a member's tasks or warm-ups.",
        "balanced",
    ),
    Row(
        "rebalances",
        lambda e: f"{e['rebalances']} ({e['probing']} probing)" if e["probing"] else f"{e['rebalances']}",
        "Generations of the group; probing: requested because warm-ups may have caught up.",
        "rounds",
    ),
)


def event_name(event: EventResult) -> str:
    """Return the member's event and the act, in words."""
    what = f"{event['member']} joins" if event["kind"] == "join" else f"kill -9 {event['member']}"
    return f"{what}, {event['act']}"


def verdict(result: FailoverResult) -> str:
    """Compare the warm act with the cold one, in a few sentences an event."""
    events = {(event["kind"], event["act"]): event for event in result["events"]}
    sentences: list[str] = []
    for kind, what in _KINDS:
        warm, cold = events.get((kind, "warm")), events.get((kind, "cold"))
        if warm is None or cold is None:
            continue
        copies = "warm-ups" if kind == "join" else "standbys"
        still, still_cold = in_seconds(warm["still_max"]), in_seconds(cold["still_max"])
        text = (
            f"{what}: the longest that a task stood still is {still} with {copies}, and "
            f"{still_cold} when state is restored cold{_ratio(cold, warm)}."
        )
        if timeout := warm["session_timeout"]:
            text += f" Both include up to {timeout:g} s of session timeout, in which the broker waits."
        lost, lost_cold = in_seconds(warm["in_all"]), in_seconds(cold["in_all"])
        sentences.append(f"{text} Beyond the usual, a task lost {lost} and {lost_cold} on average.")
    return " ".join(sentences)


def _ratio(cold: EventResult, warm: EventResult) -> str:
    """Return how many times as long the cold event took without the session timeout; empty: no time left."""
    cold_s, warm_s = (event["still_max"] - event["session_timeout"] for event in (cold, warm))
    if cold_s <= 0 or warm_s <= 0:
        return ""
    what = " without the session timeout" if warm["session_timeout"] else ""
    return f" ({cold_s / warm_s:.1f} times as long{what})"


def counted(result: FailoverResult) -> str:
    """Return sentences about the counts: whether they are right, and how many records were counted twice."""
    counts = result["counts"]
    if counts["differences"]:
        number = len(counts["differences"])
        return f"The counts are wrong in {number:,} place{'s' * (number != 1)}: {counts['differences'][0]}."
    again = f"{counts['again']:,} records were processed again after the kills"
    text = f"The counts of all {counts['lines']:,} lines equal the topic's {counts['records']:,} records. "
    if counts["doubles"]:
        return (
            f"{text}{counts['doubles']:,} records were counted twice, and recognised key by key. A killed "
            f"member had written them to the changelog, and not committed. {again}."
        )
    why = f": {again}, but had not reached the changelog before" if counts["again"] else ""
    return f"{text}Nothing was counted twice{why}."


def megabytes(size: int) -> str:
    """Return a size in bytes as text, in MB."""
    return f"{size / 1e6:,.0f} MB"
