"""Pure: what the page says of the failover."""

from __future__ import annotations

from html import escape

from demo.failover.results import EventResult, FailoverResult
from demo.failover.words import ROWS, counted, megabytes, verdict
from demo.report import failover_figures as figures
from kafka_assignors.report.drawing import Figure
from kafka_assignors.report.markup import card, name
from kafka_assignors.report.rows import seconds

_KINDS = {"join": "One joins", "kill": "One is killed with -9"}


def title(result: FailoverResult) -> str:
    """Say what came out of it."""
    longest = {event["act"]: event["still_max"] for event in result["events"] if event["kind"] == "kill"}
    if longest.keys() != {"warm", "cold"}:
        return "How long a stateful group stands still"
    return (
        f"How long a stateful group stands still: {seconds(longest['warm'], 1)} with standbys, "
        f"{seconds(longest['cold'], 1)} without"
    )


def part(result: FailoverResult, drawn: dict[str, Figure]) -> str:
    """Write the part of the page; its figure is added to ``drawn``."""
    return "\n".join((_header(result), _figures(result), _tasks(result, drawn), _method(result)))


def _header(result: FailoverResult) -> str:
    wrong = f'<p class="lead"><b>{escape(result["fault"])}</b></p>' if result["fault"] else ""
    return f"""<header><p class="eyebrow">The failover</p><h1>{escape(title(result))}</h1>{wrong}
<p class="lead">{escape(verdict(result))}</p><p class="lead">{escape(counted(result))}</p>
<p class="note">Two members count {result["flights"]:,} flights by carrier and by destination and keep
logbooks of planes and lines, in {result["tasks"]} tasks: {result["counting"]:.1f} s, and a changelog of
{megabytes(result["bytes_counted"])} ({megabytes(result["bytes"])} at the end). Then, while {result["rate"]:g}
flights a second go on coming, a third one joins, and one is killed; twice, on the same state.</p></header>"""


def _figures(result: FailoverResult) -> str:
    heads = "".join(f"<th>{escape(row.label)}</th>" for row in ROWS)
    lines = "".join(_line(event, place) for place, event in enumerate(_in_order(result)))
    meanings = "".join(f"<li><b>{escape(row.label)}</b>: {escape(row.meaning)}</li>" for row in ROWS)
    return f"""<section><h2>In figures</h2><table class="many"><thead><tr><th></th><th></th>{heads}</tr>
</thead><tbody>{lines}</tbody></table><ul>{meanings}</ul></section>"""


def _in_order(result: FailoverResult) -> list[EventResult]:
    """The same event of both acts, one after the other."""
    return sorted(result["events"], key=lambda event: (event["kind"], event["act"]))


def _line(event: EventResult, place: int) -> str:
    cells = "".join(f"<td>{_cell(row.show(event))}</td>" for row in ROWS)
    what = "" if place % 2 else escape(_KINDS[event["kind"]])
    who = name(event["act"], figures.COLOURS)
    return f'<tr><th>{what}</th><td class="who" style="white-space:nowrap">{who}</td>{cells}</tr>'


def _cell(text: str) -> str:
    main, bracket, rest = text.partition(" (")
    return escape(main).replace(" ", "&nbsp;") + (f" <small>({escape(rest)}</small>" if bracket else "")


def _tasks(result: FailoverResult, drawn: dict[str, Figure]) -> str:
    drawn["still"] = figures.still(result["events"])
    return f"""<section><h2>Task by task</h2><p>The longest time without a new record, while a member joined
(left) and after one was killed (right). Paler: the task stayed where it was, and only took part in the
rebalances.</p> {card("still")}</section>"""


def _method(result: FailoverResult) -> str:
    timeout = max((event["session_timeout"] for event in result["events"]), default=0.0)
    wrong = "".join(f"<li>{escape(difference)}</li>" for difference in result["counts"]["differences"])
    return f"""<section class="method"><h2>How it was measured</h2><ul>{wrong}
<li>One group, one topic, one changelog. First cold: no standbys, and a task goes at once to a member that has
nothing of it (an endless acceptable_recovery_lag), which reads all of its changelog. Then all leave, and
begin again on the same disks with a standby of each task and with warm-ups; the third member's disk is empty
both times, and the changelog is longer the second time.</li>
<li>Each member is a process and logs each record when it is processed. A task makes progress when a record is
processed that was not before; records that are done again do not count. While members come and go each task
gets the next of its flights in turn, so that each has one every {1e3 * result["tasks"] / result["rate"]:.0f}
ms.</li>
<li>After a kill the broker waits {timeout:g} s (session timeout) for a heartbeat before it tells the others:
that is in the times of the tasks of the member that was killed, warm and cold alike.</li>
<li>A commit makes changes safe every 200 ms: first in the changelog, then the offsets. Who is killed between
the two has its successor do those records again. Each counter knows the last offset it has counted, so it
knows which these are.</li>
<li>The size of the changelog is what the broker's log directories tell. What was counted is read from all
{result["counts"]["copies"]} copies on disk that are at the changelog's end: those of one task have to be
equal, too.</li></ul></section>"""
