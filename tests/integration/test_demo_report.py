"""The demo's report, opened in a browser: what is drawn, what is written, what can be seen."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

import pytest
from PIL import Image

from tests.integration.small_demo import DRAINING, MEMBERS, PARTITIONS, STRATEGIES, Demo, small_demo

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
BROWSER_VARIABLE = "KAFKA_ASSIGNORS_CHROMIUM"
QUIET = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--virtual-time-budget=20000",
]
WIDTH, HEIGHT = 1400, 12500


@pytest.fixture(scope="module")
def demo(kafka_bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> Demo:
    return small_demo(kafka_bootstrap, tmp_path_factory)


class Page(HTMLParser):
    """Lists what is drawn in each element with the class ``plot``: bars per trace, points, texts.

    plotly puts each trace's bars, and each trace's points, in a group of their own.
    """

    def __init__(self) -> None:
        super().__init__()
        self.bars: dict[str, list[int]] = {}
        self.points: dict[str, int] = {}
        self.texts: dict[str, list[str]] = {}
        self._now = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        classes = (values.get("class") or "").split()
        if tag == "div" and "plot" in classes:
            self._now = values.get("id") or ""
            self.bars[self._now], self.points[self._now], self.texts[self._now] = [], 0, []
        elif self._now and tag == "g" and {"trace", "bars"} <= set(classes):
            self.bars[self._now].append(0)
        elif self._now and tag == "g" and classes == ["point"]:
            self.bars[self._now][-1] += 1
        elif self._now and tag == "path" and "point" in classes:
            self.points[self._now] += 1

    def handle_data(self, data: str) -> None:
        if self._now and data.strip():
            self.texts[self._now].append(data.strip())


def browser() -> str:
    """Find Chromium, or fail with how to get it."""
    named = os.environ.get(BROWSER_VARIABLE)
    found = named or next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        pytest.fail(
            f"no Chromium on PATH: apt-get install chromium, or name one in {BROWSER_VARIABLE}", pytrace=False
        )
    return found


def browse(page: Path, *arguments: str) -> str:
    """Open a page in a browser with an empty profile; return what it prints."""
    with tempfile.TemporaryDirectory() as profile:
        ended = subprocess.run(
            [
                browser(),
                *QUIET,
                f"--user-data-dir={profile}",
                f"--window-size={WIDTH},{HEIGHT}",
                *arguments,
                page.as_uri(),
            ],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert ended.returncode == 0, ended.stderr[-2000:]
    return ended.stdout


WATCH_ERRORS = "<script>window.failures = []; onerror = message => failures.push(String(message));</script>"
TELL = """<script>addEventListener('load', () => setTimeout(() => {
  const boxes = {}, labels = [];
  for (const plot of document.querySelectorAll('.plot')) {
    const box = plot.getBoundingClientRect();
    boxes[plot.id] = [box.left, box.top, box.right, box.bottom].map(Math.round);
    for (const label of plot.querySelectorAll('.annotation-text')) {
      const its = label.getBoundingClientRect();
      labels.push([plot.id, its.left, its.top, its.right, its.bottom]);
    }
  }
  const width = document.documentElement.scrollWidth;
  document.body.dataset.layout = JSON.stringify({failures, boxes, labels, width});
}, 3000));</script>"""


class Look(NamedTuple):
    """What the browser made of the report."""

    page: Page
    failures: list[str]
    boxes: dict[str, list[int]]
    width: int
    picture: Path
    labels: list[tuple[str, float, float, float, float]]

    def labels_in_pairs(self) -> Iterator[tuple[str, Sequence[float], Sequence[float]]]:
        """Yield each two labels of one plot as left, top, right and bottom."""
        for (plot, *one), (of_plot, *other) in itertools.combinations(self.labels, 2):
            if plot == of_plot:
                yield plot, one, other


@pytest.fixture(scope="module")
def look(demo: Demo) -> Look:
    """Open the report twice: as it is, for its picture, and with a script that tells where things are."""
    report = demo.out / "report.html"
    picture = demo.out / "report.png"
    browse(report, f"--screenshot={picture}")
    talking = demo.out / "talking.html"
    text = report.read_text(encoding="utf-8")
    talking.write_text(
        text.replace("<head>", f"<head>{WATCH_ERRORS}", 1).replace("</body></html>", f"{TELL}</body></html>"),
        "utf-8",
    )
    dom = browse(talking, "--dump-dom")
    page = Page()
    page.feed(dom[dom.index("<main") : dom.index("</main>")])
    found = re.search(r'data-layout="([^"]*)"', dom)
    assert found is not None
    layout = json.loads(found.group(1).replace("&quot;", '"'))
    return Look(page, layout["failures"], layout["boxes"], layout["width"], picture, layout["labels"])


def test_the_report_draws_without_an_error(look: Look) -> None:
    assert look.failures == []
    replay = {"ownership-0", "lag-0", "ownership-1", "lag-1", "pauses", "moves"}
    backlog = {"drain-times", "largest-lag", "loads", *(f"backlog-lag-{i}" for i in range(len(DRAINING)))}
    tried = {f"{kind}-tried-{scene}" for kind in ("lag", "time-lag") for scene in (0, 1)}
    assert set(look.page.texts) == replay | backlog | tried | {"hours"}
    assert look.width <= WIDTH


def test_every_hold_is_a_bar_of_its_members_trace_and_every_pause_a_point(demo: Demo, look: Look) -> None:
    for place, one in enumerate(demo.results["strategies"]):
        held = [sum(hold["member"] == member for hold in one["holds"]) for member in MEMBERS]
        unowned, *members, warm_ups, waiting = look.page.bars[f"ownership-{place}"]
        assert members == held
        assert sum(held) >= PARTITIONS
        assert (warm_ups, waiting) == (len(one["openings"]), len(one["waits"]))
        assert unowned > 0  # after the kill
    paused = [pause for one in demo.results["strategies"] for pause in one["pauses"] if pause["seconds"] > 0]
    assert look.page.points["pauses"] == len(paused)


def test_axes_legends_and_churn_are_labelled(look: Look) -> None:
    time_axis = "time since the first record (s)"
    churn = ["m4 joins", "m1 leaves", "kill -9 m2"]
    for place in (0, 1):
        bands = look.page.texts[f"ownership-{place}"]
        for text in (time_axis, "partition", "no owner", "warming up", "waiting", *MEMBERS, *churn):
            assert text in bands
        for text in (time_axis, "lag (records)", "total", *MEMBERS, *churn):
            assert text in look.page.texts[f"lag-{place}"]
    for plot, axis in (("pauses", "pause of a partition (s)"), ("moves", "partitions moved so far")):
        for text in (axis, *STRATEGIES, *churn):
            assert text in look.page.texts[plot]


def test_the_backlogs_figures_name_strategies_members_and_the_bound(demo: Demo, look: Look) -> None:
    bound = f"lower bound {demo.results['backlog'][0]['bound']:.1f} s"
    texts, bars = look.page.texts, look.page.bars
    for text in ("drain time (s)", bound, *DRAINING):
        assert text in texts["drain-times"]
    for text in ("largest lag of a member (records)", "lower bound", bound, *DRAINING):
        assert text in texts["largest-lag"]
    for text in ("load at the start (records)", "m1", "m2", "m3", *DRAINING):
        assert text in texts["loads"]
    assert bars["drain-times"] == [len(DRAINING)]
    assert bars["loads"] == [len(DRAINING)] * 3
    for place in range(len(DRAINING)):
        for text in ("lag (records)", "total", "m1", "m2", "m3", bound):
            assert text in texts[f"backlog-lag-{place}"]


def test_the_pipelines_figures_name_candidates_churn_and_forecasts(demo: Demo, look: Look) -> None:
    pipeline = demo.results["pipeline"]
    assert pipeline is not None
    assert pipeline["backtest"] is not None
    names = [one["candidate"] for one in pipeline["backtest"]["candidates"]]
    for scene in (0, 1):
        for text in ("lag (records)", "recorded", *names):
            assert text in look.page.texts[f"lag-tried-{scene}"]
    for text in ("a member joins", "one leaves", "one is killed"):
        assert text in look.page.texts["lag-tried-0"]
        assert text not in look.page.texts["lag-tried-1"]
    for text in ("hour (UTC)", "records in the hour", "came", "forecast", "the hour before again"):
        assert text in look.page.texts["hours"]
    assert look.page.bars["hours"] == [7 * 24]


def test_labels_of_the_churn_do_not_overlap(look: Look) -> None:
    assert len(look.labels) >= 15  # of three steps in five figures
    for plot, one, other in look.labels_in_pairs():
        apart = one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
        assert apart, (plot, one, other)


def test_the_picture_shows_colours_in_every_plot(look: Look) -> None:
    with Image.open(look.picture) as picture:
        assert picture.size == (WIDTH, HEIGHT)
        seen = picture.convert("RGB")
    for plot, (left, top, right, bottom) in look.boxes.items():
        assert bottom < HEIGHT, plot
        counts = seen.crop((left, top, right, bottom)).getcolors(maxcolors=1 << 24) or []
        area = (right - left) * (bottom - top)
        vivid = {
            colour: count
            for count, colour in counts
            if isinstance(colour, tuple) and max(colour) - min(colour) > 60 and count > 60
        }
        assert len(vivid) >= 2, plot  # at least two members, or two strategies
        if plot.startswith("ownership"):
            assert sum(vivid.values()) > 0.2 * area, plot
