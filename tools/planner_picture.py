"""Draw docs/images/planner-example.svg: ``python -m tools.planner_picture`` from the root of the project.

Every number in it comes from ``planner_trace``; this module only chooses positions.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from math import hypot
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kafka_assignors.plan.sticky.goals import Matrix
from tools.planner_trace import GROUP, Arc, Step, Trace, watch

PICTURE = Path(__file__).parent.parent / "docs" / "images" / "planner-example.svg"

INK, SOFT, FAINT, PAPER = "#1f2933", "#55616d", "#aab4be", "#ffffff"
PATH, USED, GAIN, LOSS, PRICE = "#0b62c4", "#c2410c", "#cfe3fa", "#fbdcc4", "#fdf0b8"
MINUS, ARROW = "\N{MINUS SIGN}", "\N{RIGHTWARDS ARROW}"

WIDTH, HEIGHT = 1400, 960
CELL, ROW = 48, 38
COLUMNS = {"topic": 105.0, "member": 335.0, "hub": 560.0}


class Point(NamedTuple):
    """A position in the picture."""

    x: float
    y: float


class Node(NamedTuple):
    """A node of the network: its middle, and half its size."""

    at: Point
    wide: float
    high: float


def draw(trace: Trace) -> str:
    """Return the picture as SVG."""
    fair, sticky, spread = trace.steps
    before, after = _squares(trace.first.sum(axis=0)), _squares(fair.shares.sum(axis=0))
    shares_before, shares_after = _squares(sticky.shares), _squares(spread.shares)
    second = "no change" if np.array_equal(fair.shares, sticky.shares) else "not drawn"
    kept = int(np.minimum(trace.problem.owned, spread.shares).sum())
    parts = [
        *_text(40, 54, "One joins: how eight partitions find their members", size=27, weight=700),
        *_text(40, 84, "d wants views only, and only c has any. Every number is the planner’s own.", size=16),
        *_matrix(trace, trace.problem.owned, None, 40, ("What they owned", "d has just joined")),
        *_matrix(
            trace, trace.first, trace.problem.owned, 390, ("First matrix", f"squares of the loads {before}")
        ),
        *_matrix(
            trace,
            fair.shares,
            trace.first,
            740,
            ("After fair", f"squares {after}; sticky: {second}"),
        ),
        *_matrix(
            trace,
            spread.shares,
            sticky.shares,
            1090,
            ("After spread", f"kept {kept} of {trace.problem.owned.sum()}: the plan"),
        ),
        *_to_the_next(334, "first guess"),
        *_to_the_next(684, "path 1"),
        *_to_the_next(1034, "path 2"),
        *_network(
            40, f"Fair, by balance: path 1 among {len(fair.phases[0].arcs)} arcs that cost nothing", fair
        ),
        *_under_balance(40, trace, f"squares of the loads {before} {ARROW} {after}"),
        *_network(
            725,
            f"Spread, by phases: path 2 among the {len(spread.phases[0].arcs)} arcs left open",
            spread,
        ),
        *_under(725, spread, f"squares of the shares {shares_before} {ARROW} {shares_after}"),
        *_legend(926),
    ]
    heads = "".join(
        f'<marker id="{name}" viewBox="0 0 10 10" refX="9" refY="5" orient="auto"'
        f' markerWidth="{size}" markerHeight="{size}" markerUnits="userSpaceOnUse">'
        f'<path d="M0 0L10 5L0 10z" fill="{color}"/></marker>'
        for name, color, size in (("open", FAINT, 11), ("path", PATH, 17), ("used", USED, 17))
    )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}"'
            f' height="{HEIGHT}" font-family="DejaVu Sans, Verdana, Arial, sans-serif" role="img">',
            "<title>The planner at work on a small group</title>",
            f"<defs>{heads}</defs>",
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="{PAPER}"/>',
            *parts,
            "</svg>\n",
        ]
    )


def _squares(numbers: npt.NDArray[np.int64]) -> int:
    return int((numbers * numbers).sum())


def _matrix(
    trace: Trace, shares: Matrix, before: Matrix | None, left: float, words: tuple[str, str]
) -> Iterator[str]:
    """Draw a matrix of topics by members, with changes in colour and loads below."""
    title, note = words
    top, first = 150.0, left + 70
    yield from _text(left, top - 26, title, size=17, weight=700)
    changed = np.zeros_like(shares) if before is None else shares - before
    for column, member in enumerate(GROUP.members):
        yield from _text(first + CELL * (column + 0.5), top - 4, member.member_id, size=15, anchor="middle")
    for row, topic in enumerate(GROUP.names):
        y = top + 4 + ROW * row
        yield from _text(first - 10, y + 24, topic, size=15, anchor="end")
        for column in range(len(GROUP.members)):
            x, share = first + CELL * column, int(shares[row, column])
            may = bool(trace.problem.subscribed[row, column])
            difference = int(changed[row, column])
            fill = GAIN if difference > 0 else LOSS if difference < 0 else PAPER if may else "#e9ecef"
            yield f'<rect x="{x}" y="{y}" width="{CELL}" height="{ROW}" fill="{fill}" stroke="{FAINT}"/>'
            if may:
                weight = 700 if difference else 400
                yield from _text(
                    x + CELL / 2, y + 25, str(share), size=17, weight=weight, anchor="middle", fill=INK
                )
    y = top + 4 + ROW * len(GROUP.names)
    yield from _text(first - 10, y + 26, "load", size=15, anchor="end")
    for column, load in enumerate(shares.sum(axis=0).tolist()):
        yield from _text(
            first + CELL * (column + 0.5), y + 26, str(load), size=17, weight=700, anchor="middle", fill=INK
        )
    yield from _text(left, y + 58, note, size=15)


def _to_the_next(x: float, label: str) -> Iterator[str]:
    """Draw an arrow between two matrices."""
    y = 212
    yield f'<path d="M{x} {y}h52" stroke="{SOFT}" stroke-width="2" fill="none"/>'
    yield f'<path d="M{x + 60} {y}l-12 -6v12z" fill="{SOFT}"/>'
    yield from _text(x + 28, y - 13, label, size=13, anchor="middle")


def _nodes(left: float) -> dict[str, Node]:
    """Return the nodes: topics, members and the hub from left to right."""
    topics = {
        name: Node(Point(left + COLUMNS["topic"], 505 + 125 * i), 42, 20)
        for i, name in enumerate(GROUP.names)
    }
    members = {
        member.member_id: Node(Point(left + COLUMNS["member"], 470 + 108 * i), 22, 22)
        for i, member in enumerate(GROUP.members)
    }
    return topics | members | {"hub": Node(Point(left + COLUMNS["hub"], 632), 30, 22)}


def _network(left: float, title: str, step: Step) -> Iterator[str]:
    """Draw a phase: its open arcs, its path, and each node's price and excess."""
    (phase,) = step.phases
    (path,) = phase.paths
    nodes = _nodes(left)
    yield from _text(left, 412, title, size=17, weight=700)
    special = {(arc.here, arc.there) for arc in [*path, *step.used_up]}
    for arc in phase.arcs:
        if (arc.here, arc.there) not in special:
            yield _line(nodes, arc, f'stroke="{FAINT}" stroke-width="1.4" marker-end="url(#open)"')
    for arc in step.used_up:
        look = f'stroke="{USED}" stroke-width="3.2" stroke-dasharray="8 6" marker-end="url(#used)"'
        yield _line(nodes, arc, look)
    for arc in path:
        yield _line(nodes, arc, f'stroke="{PATH}" stroke-width="3.6" marker-end="url(#path)"')
    linked = {end for arc in phase.arcs for end in (arc.here, arc.there)}
    for name, node in nodes.items():
        if name not in linked:  # balance does not use the hub
            continue
        yield from _node(node, name, phase.prices[name], phase.excess.get(name, 0))
    for arc, color in [*((arc, USED) for arc in step.used_up), *((arc, PATH) for arc in path)]:
        tag = _on(nodes, arc)
        yield (
            f'<rect x="{tag.x - 16:.1f}" y="{tag.y - 11:.1f}" width="32" height="22" rx="11" fill="{PAPER}"'
            f' stroke="{color}"/>'
        )
        yield from _text(
            tag.x, tag.y + 5, _signed(arc.cost), size=14, weight=700, fill=color, anchor="middle"
        )


def _node(node: Node, name: str, price: int, excess: int) -> Iterator[str]:
    (x, y), wide, high = node
    yield (
        f'<rect x="{x - wide}" y="{y - high}" width="{2 * wide}" height="{2 * high}" rx="{high}"'
        f' fill="{PAPER}" stroke="{INK}" stroke-width="2"/>'
    )
    yield from _text(x, y + 5, name, size=15, weight=700, fill=INK, anchor="middle")
    # The price left of topics, above members and the hub.
    at = Point(x - wide - 24, y) if wide > 40 else Point(x, y - high - 15)
    yield (
        f'<rect x="{at.x - 17}" y="{at.y - 11}" width="34" height="22" rx="4"'
        f' fill="{PRICE}" stroke="#b08900"/>'
    )
    yield from _text(at.x, at.y + 5, _signed(price), size=14, fill=INK, anchor="middle")
    if excess:
        x, y = (x + 34, y + high + 8) if wide < 40 else (x - 30, y + high + 14)
        yield f'<rect x="{x - 18}" y="{y - 12}" width="36" height="24" rx="4" fill="{INK}"/>'
        sign = "+" if excess > 0 else ""
        yield from _text(x, y + 5, sign + _signed(excess), size=14, weight=700, fill=PAPER, anchor="middle")


def _curve(nodes: dict[str, Node], arc: Arc) -> tuple[Point, Point, Point]:
    """Return an arc from edge to edge; it bends to the right, so that the reverse arc does not cover it."""
    a, b = nodes[arc.here], nodes[arc.there]
    dx, dy = b.at.x - a.at.x, b.at.y - a.at.y
    length = hypot(dx, dy)
    middle = Point((a.at.x + b.at.x) / 2 - dy / length * 16, (a.at.y + b.at.y) / 2 + dx / length * 16)
    return _edge(a, middle, 1), middle, _edge(b, middle, 4)


def _edge(node: Node, towards: Point, gap: float) -> Point:
    """Return where a line from the middle of a node crosses its edge; nodes have round ends."""
    dx, dy = towards.x - node.at.x, towards.y - node.at.y
    length = hypot(dx, dy)
    dx, dy = dx / length, dy / length
    flat = node.wide - node.high
    if abs(dy) * flat > node.high * abs(dx):  # through the top or the bottom
        reach = node.high / abs(dy)
    else:  # through a half circle around (flat, 0)
        along = flat * abs(dx)
        reach = along + (along * along - flat * flat + node.high * node.high) ** 0.5
    return Point(node.at.x + dx * (reach + gap), node.at.y + dy * (reach + gap))


def _line(nodes: dict[str, Node], arc: Arc, look: str) -> str:
    start, middle, end = _curve(nodes, arc)
    points = " ".join(f"{p.x:.1f} {p.y:.1f}" for p in (middle, end))
    return f'<path d="M{start.x:.1f} {start.y:.1f}Q{points}" fill="none" {look}/>'


def _on(nodes: dict[str, Node], arc: Arc) -> Point:
    """Return the position of an arc's cost: near its start, away from crossings."""
    start, middle, end = _curve(nodes, arc)
    t = 0.5 if "hub" in arc else 0.36
    weights = ((1 - t) ** 2, 2 * t * (1 - t), t * t)
    return Point(
        sum(w * p.x for w, p in zip(weights, (start, middle, end), strict=True)),
        sum(w * p.y for w, p in zip(weights, (start, middle, end), strict=True)),
    )


def _under(left: float, step: Step, effect: str) -> Iterator[str]:
    """Write the arithmetic of a circle."""
    (phase,), (used,) = step.phases, step.used_up
    (path,) = phase.paths
    a, b = phase.prices[used.here], phase.prices[used.there]
    reduced = f"{_signed(a)} + {_signed(used.cost)} {MINUS} {_signed(b)} = {_signed(a + used.cost - b)}"
    words = f"Used up: {used.here} {ARROW} {used.there}, for {reduced} is negative"
    yield from _text(left, 858, words, size=15)
    total = sum(arc.cost for arc in path)
    around = total + used.cost
    words = f"The path costs {_signed(total)}, the whole circle {_signed(around)}: {effect}"
    yield from _text(left, 882, words, size=15)


def _under_balance(left: float, trace: Trace, effect: str) -> Iterator[str]:
    """Write the effect of a path without costs on the loads."""
    fair = trace.steps[0]
    (path,) = fair.phases[0].paths
    loads = dict(zip((m.member_id for m in GROUP.members), trace.first.sum(axis=0).tolist(), strict=True))
    rich, poor = path[0].here, path[-1].there
    mean = sum(loads.values()) // len(loads)
    words = f"The mean load is {mean}: {rich} has {loads[rich]}, {poor} has {loads[poor]}"
    yield from _text(left, 858, words, size=15)
    words = f"Any path from one to the other will do, without costs: {effect}"
    yield from _text(left, 882, words, size=15)


def _legend(y: float) -> Iterator[str]:
    yield f'<path d="M40 {y - 24}H{WIDTH - 40}" stroke="{FAINT}"/>'
    x = 40.0
    lines = (
        (PATH, "3.6", "none", "path, with costs"),
        (USED, "3.2", "8 6", "used up before"),
        (FAINT, "1.4", "none", "open arc"),
    )
    for (color, width, dash, label), head in zip(lines, ("path", "used", "open"), strict=True):
        yield (
            f'<path d="M{x:.1f} {y}h46" stroke="{color}" stroke-width="{width}"'
            f' stroke-dasharray="{dash}" marker-end="url(#{head})"/>'
        )
        yield from _text(x + 56, y + 5, label, size=14)
        x += 78 + 7.4 * len(label)
    boxes = (
        (PRICE, "price (potential)"),
        (INK, "too much (+), too little (−)"),
        (GAIN, "gains"),
        (LOSS, "loses"),
        ("#e9ecef", "does not subscribe"),
    )
    for fill, label in boxes:
        yield f'<rect x="{x:.1f}" y="{y - 10}" width="26" height="20" rx="3" fill="{fill}" stroke="{FAINT}"/>'
        yield from _text(x + 35, y + 5, label, size=14)
        x += 55 + 7.4 * len(label)


def _text(
    x: float, y: float, words: str, *, size: int, weight: int = 400, fill: str = SOFT, anchor: str = "start"
) -> Iterator[str]:
    if weight == 700 and fill == SOFT:
        fill = INK
    yield (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" font-weight="{weight}" fill="{fill}"'
        f' text-anchor="{anchor}">{escape(words)}</text>'
    )


def _signed(number: int) -> str:
    """Return a number with a typographic minus."""
    return str(number).replace("-", MINUS)


if __name__ == "__main__":
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(draw(watch(GROUP)), encoding="utf-8")
    print(PICTURE.relative_to(Path.cwd()))
