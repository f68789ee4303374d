"""Pure: the failover's results in plain words, and its rows, for terminal and page."""

from __future__ import annotations

from demo.failover.results import EventResult, FailoverResult
from kafka_assignors.report.rows import Row, seconds

_KINDS = (("join", "One joins"), ("kill", "One is killed with -9"))

ROWS: tuple[Row[EventResult], ...] = (
    Row(
        "longest without progress",
        lambda e: seconds(e["still_max"]),
        "The longest time between two records of one task that were processed for the first time, from the "
        "event until all was at rest; of the task that had the longest.",
        "longest",
    ),
    Row(
        "median of the tasks",
        lambda e: seconds(e["still_p50"]),
        "The same of the task in the middle.",
        "median",
    ),
    Row(
        "in all",
        lambda e: seconds(e["in_all"]),
        "All times without progress of a task added up, of each what it was longer than usual, until all was "
        "at rest; mean of the tasks: so with what it costs to look whether warm-ups are there.",
        "in all",
    ),
    Row(
        "usual",
        lambda e: seconds(e["usual"]),
        "The same in the seconds before, when nothing happened; median of the tasks.",
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
        "Records of these that the new member had to apply while no member processed the task.",
        "waited",
    ),
    Row(
        "balanced after",
        lambda e: seconds(e["balanced"], 1),
        "Until the last change of a member's tasks or warm-ups.",
        "balanced",
    ),
    Row(
        "rebalances",
        lambda e: f"{e['rebalances']} ({e['probing']} probing)" if e["probing"] else f"{e['rebalances']}",
        "Generations of the group; probing: asked for to see whether warm-ups are there.",
        "rounds",
    ),
)


def named(event: EventResult) -> str:
    """What happened."""
    what = f"{event['member']} joins" if event["kind"] == "join" else f"kill -9 {event['member']}"
    return f"{what}, {event['act']}"


def verdict(result: FailoverResult) -> str:
    """What standbys and warm-ups were worth, in a sentence an event."""
    found = {(event["kind"], event["act"]): event for event in result["events"]}
    sentences: list[str] = []
    for kind, what in _KINDS:
        warm, cold = found.get((kind, "warm")), found.get((kind, "cold"))
        if warm is None or cold is None:
            continue
        copies = "warm-ups" if kind == "join" else "standbys"
        text = (
            f"{what}: the longest that a task stood still is {seconds(warm['still_max'])} with {copies}, and "
            f"{seconds(cold['still_max'])} when state is restored cold{_beside(cold, warm)}."
        )
        if timeout := warm["session_timeout"]:
            text += f" Up to {timeout:g} s of both are the session timeout: so long the broker waits."
        lost, other = seconds(warm["in_all"]), seconds(cold["in_all"])
        sentences.append(f"{text} All such times added up, a task lost {lost} and {other} on average.")
    return " ".join(sentences)


def _beside(cold: EventResult, warm: EventResult) -> str:
    """How many times as long, without the session timeout, if there is anything left without it."""
    rest, less = (event["still_max"] - event["session_timeout"] for event in (cold, warm))
    if rest <= 0 or less <= 0:
        return ""
    what = ", the session timeout apart" if warm["session_timeout"] else ""
    return f" ({rest / less:.1f} times as long{what})"


def counted(result: FailoverResult) -> str:
    """Whether the counts are right, and what was counted twice."""
    counts = result["counts"]
    if counts["differences"]:
        number = len(counts["differences"])
        return f"The counts are wrong in {number:,} place{'s' * (number != 1)}: {counts['differences'][0]}."
    again = f"{counts['again']:,} records were processed again after the kills"
    text = f"The counts of all {counts['lines']:,} lines equal the topic's {counts['records']:,} records. "
    if counts["doubles"]:
        return (
            f"{text}Counted twice, and known to be, key by key: {counts['doubles']:,} records. The killed "
            f"member had written them to the changelog, and not committed; {again}."
        )
    why = f": {again}, and nothing of them had reached the changelog before" if counts["again"] else ""
    return f"{text}Nothing was counted twice{why}."


def megabytes(size: int) -> str:
    """In MB."""
    return f"{size / 1e6:,.0f} MB"
