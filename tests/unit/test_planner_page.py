"""The planner page is true: its session prints what it shows, its picture shows what the planner does."""

from __future__ import annotations

import doctest
import re
import xml.etree.ElementTree as ET
from random import Random
from typing import Any

import pytest

from kafka_assignors.plan import Group, Member, plan_sticky, resolve
from kafka_assignors.plan.sticky.deal import Lots
from kafka_assignors.plan.sticky.shares import best_shares
from tests.support.examples import ROOT
from tools import planner_picture
from tools.planner_trace import GROUP, Arc, Trace, watch

PAGE = ROOT / "docs" / "explanation" / "planner.md"


@pytest.fixture(scope="module")
def trace() -> Trace:
    return watch(GROUP)


def test_session_prints_the_output_on_the_page() -> None:
    """One session over the whole page, as a reader would type it."""
    known: dict[str, Any] = {}
    text = PAGE.read_text(encoding="utf-8")
    blocks = list(re.finditer(r"^```pycon\n(.*?)^```", text, re.DOTALL | re.MULTILINE))
    assert blocks
    for block in blocks:
        line = text[: block.start(1)].count("\n")
        session = doctest.DocTestParser().get_doctest(block[1], known, PAGE.name, str(PAGE), line)
        said: list[str] = []
        doctest.DocTestRunner().run(session, out=said.append, clear_globs=False)
        assert not said, "".join(said)
        known = session.globs
    assert known["group"] == GROUP, "the picture is of the page's group"


def test_picture_equals_its_scripts_output(trace: Trace) -> None:
    """After a change: ``python -m tools.planner_picture``, and look at it."""
    assert planner_picture.PICTURE.read_text(encoding="utf-8") == planner_picture.draw(trace)


def test_picture_is_well_formed_and_inside_its_frame() -> None:
    drawing = ET.fromstring(planner_picture.PICTURE.read_text(encoding="utf-8"))  # noqa: S314  # our own file
    texts = list(drawing.iter("{http://www.w3.org/2000/svg}text"))
    assert len(texts) > 100
    assert all(0 < float(t.attrib["x"]) < planner_picture.WIDTH for t in texts)
    assert all(0 < float(t.attrib["y"]) < planner_picture.HEIGHT for t in texts)


def test_traced_plan_equals_the_plan(trace: Trace) -> None:
    """The matrix the trace ends with is the one the planner deals from."""
    claims = resolve(GROUP)
    shares = best_shares(Lots(GROUP, claims.owner).problem(keep_all=False))
    assert trace.steps[-1].shares.tolist() == shares.tolist()
    plan = plan_sticky(GROUP, claims)
    assert [
        [len(plan[m.member_id].get(t, ())) for m in GROUP.members] for t in GROUP.names
    ] == shares.tolist()


def test_balance_levels_loads_along_a_free_path(trace: Trace) -> None:
    """The numbers of ``fair`` on the page and in the picture."""
    step = trace.steps[0]
    (phase,) = step.phases
    (path,) = phase.paths
    assert step.how == "by balance"
    assert not step.used_up
    before = dict(zip((m.member_id for m in GROUP.members), trace.first.sum(axis=0).tolist(), strict=True))
    mean = sum(before.values()) // len(before)
    assert phase.excess == {name: load - mean for name, load in before.items() if load != mean}
    assert phase.excess == {path[0].here: 1, path[-1].there: -1}
    assert not any(arc.cost for arc in phase.arcs)
    assert not any("hub" in (arc.here, arc.there) for arc in phase.arcs)
    assert set(step.loads) == {mean}


def test_path_and_used_up_arc_form_a_negative_circle(trace: Trace) -> None:
    """The numbers of ``spread`` on the page and in the picture."""
    step = trace.steps[2]
    (phase,), (used,) = step.phases, step.used_up
    (path,) = phase.paths
    assert (path[-1].there, path[0].here) == (used.here, used.there)
    assert phase.step == 1
    assert phase.excess == {used.here: -1, used.there: 1}
    assert used.cost + sum(arc.cost for arc in path) < 0

    def reduced(arc: Arc) -> int:
        return phase.prices[arc.here] + arc.cost - phase.prices[arc.there]

    assert reduced(used) < 0
    assert min(map(reduced, phase.arcs)) == 0
    assert not any(map(reduced, path))


def test_spread_takes_large_steps_first_with_many_units() -> None:
    """The steps on the page; tracing does not change them."""
    rng = Random(1)
    topics = {f"t{i}": 100 * 2**i for i in range(6)}
    names = "abcde"
    wanted = {name: {t for t in topics if rng.random() < 0.5} | {"t5"} for name in names}
    history = {t: rng.choice([name for name in names if t in wanted[name]] or ["a"]) for t in topics}
    group = Group(
        tuple(
            Member(
                name,
                frozenset(wanted[name]),
                {t: tuple(range(n)) for t, n in topics.items() if history[t] == name and t in wanted[name]},
                generation=5,
            )
            for name in names
        ),
        topics,
    )
    seen = watch(group)
    problem = Lots(group, resolve(group).owner).problem(keep_all=False)
    assert seen.steps[-1].shares.tolist() == best_shares(problem).tolist()
    steps = [phase.step for phase in seen.steps[-1].phases]
    assert steps == sorted(steps, reverse=True)
    assert steps[0] > 1
    assert steps[-1] == 1
