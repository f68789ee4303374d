"""The demo for real, small: processes, churn, both strategies, its files, and its report in a browser."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest
from PIL import Image

from kafka_assignors.demo.results import Results

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
WIDTH, HEIGHT = 1400, 3400
STRATEGIES = ("range", "cooperative-sticky")
PARTITIONS = 12
MEMBERS = ["m1", "m2", "m3", "m4"]

#: The kill comes early enough for its rebalance, 6 s later, to fall into the replay.
SMALL = (
    f"--consumers 3 --partitions {PARTITIONS} --speed 40000 --duration 14 --churn join@1,leave@5,kill@7.5 "
    "--work-ms 3 --warm-up-ms 100"
).split()


class Demo(NamedTuple):
    """A demo that has run."""

    ended: subprocess.CompletedProcess[str]
    out: Path
    seconds: float

    @property
    def results(self) -> Results:
        read: Results = json.loads((self.out / "results.json").read_text())
        return read


def command(bootstrap: str, out: Path, *more: str) -> list[str]:
    return [
        sys.executable,
        "-m",
        "kafka_assignors",
        "demo",
        "--bootstrap",
        bootstrap,
        "--out",
        str(out),
        *more,
    ]


@pytest.fixture(scope="module")
def demo(kafka_bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> Demo:
    """The demo, run once for all tests of this file."""
    out = tmp_path_factory.mktemp("demo") / "out"
    began = time.monotonic()
    ended = subprocess.run(
        command(kafka_bootstrap, out, "--output", "json", *SMALL),
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return Demo(ended, out, time.monotonic() - began)


def test_nothing_is_lost_and_everything_is_owned(demo: Demo) -> None:
    results = demo.results
    assert [one["strategy"] for one in results["strategies"]] == list(STRATEGIES)
    for one in results["strategies"]:
        assert one["produced"] == one["processed"] > 1_000
        assert (one["lost"], one["double_owned"], one["owned_at_end"]) == (0, 0, PARTITIONS)


def test_every_strategy_met_the_same_events_and_churn(demo: Demo) -> None:
    first, second = demo.results["strategies"]
    assert first["produced"] == second["produced"]
    for one in (first, second):
        assert [(step["kind"], step["member"]) for step in one["steps"]] == [
            ("join", "m4"),
            ("leave", "m1"),
            ("kill", "m2"),
        ]
        assert [step["at"] for step in one["steps"]] == pytest.approx([1, 5, 7.5], abs=0.7)
        assert {m["name"]: m["how"] for m in one["members"]} == dict(
            zip(MEMBERS, ("left", "killed", "end", "end"), strict=True)
        )


def test_each_step_settled_and_was_measured(demo: Demo) -> None:
    for one in demo.results["strategies"]:
        assert one["drain"] >= 0
        assert one["lag"]["total"][-1] == 0
        assert 0 < one["pause_p50"] <= one["pause_max"]
        kill = one["steps"][-1]
        assert kill["settled"] is not None
        assert kill["settled"] > 4  # the session timeout is 6 s, counted from the last heartbeat
        assert all(step["moved"] >= step["least_moves"] for step in one["steps"])


def test_cooperative_sticky_moves_as_little_as_can_be(demo: Demo) -> None:
    ranges, sticky = demo.results["strategies"]
    assert sticky["moved"] <= ranges["moved"]
    if all(
        step["settled"] is not None for step in sticky["steps"]
    ):  # else one step's moves are the next one's too
        assert sticky["moved"] == sticky["least_moves"]


def test_stdout_is_the_result_and_stderr_tells_the_progress(demo: Demo) -> None:
    printed = json.loads(demo.ended.stdout)
    assert printed["report"] == str(demo.out / "report.html")
    assert printed["strategies"] == demo.results["strategies"]
    lines = demo.ended.stderr.splitlines()
    steps = ["join m4", "leave m1", "kill m2"]
    assert [line for line in lines if line in steps] == 2 * steps
    assert demo.seconds < 90


def test_every_process_left_its_log(demo: Demo) -> None:
    for strategy in STRATEGIES:
        names = {path.name for path in (demo.out / strategy).glob("*.jsonl")}
        assert names == {"driver.jsonl", *(f"{member}.jsonl" for member in MEMBERS)}


def members_of(process: psutil.Process) -> list[psutil.Process]:
    return [
        child
        for child in process.children(recursive=True)
        if "kafka_assignors.demo.member" in child.cmdline()
    ]


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_process_outlives_the_demo(kafka_bootstrap: str, tmp_path: Path, how: signal.Signals) -> None:
    with subprocess.Popen(command(kafka_bootstrap, tmp_path, *SMALL), stderr=subprocess.PIPE) as popen:
        driver = psutil.Process(popen.pid)
        deadline = time.monotonic() + 30
        while len(found := members_of(driver)) < 3 and time.monotonic() < deadline:
            time.sleep(0.1)
        assert len(found) == 3
        popen.send_signal(how)
        popen.communicate(timeout=20)
    _, alive = psutil.wait_procs(found, timeout=10)
    assert alive == []
    assert popen.returncode == (-how if how == signal.SIGKILL else 130)


# --- the report, in a browser ------------------------------------------------------------------------------


class Page(HTMLParser):
    """Counts what is drawn in each element with the class ``plot``."""

    def __init__(self) -> None:
        super().__init__()
        self._depth = 0
        self._plot = ""
        self._text: list[str] = []
        self._classes: list[str] = []
        self.bars: dict[str, int] = {}
        self.paths: dict[str, int] = {}
        self.texts: dict[str, list[str]] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        classes = values.get("class") or ""
        if tag == "div" and "plot" in classes.split():
            self._plot = values.get("id") or ""
            self.bars[self._plot], self.paths[self._plot], self.texts[self._plot] = 0, 0, []
        self._classes = classes.split()
        if tag == "path" and self._plot:
            self.paths[self._plot] += 1
            self.bars[self._plot] += (values.get("d") or "").endswith("Z") and "fill" in (
                values.get("style") or ""
            )

    def handle_data(self, data: str) -> None:
        if self._plot and data.strip():
            self.texts[self._plot].append(data.strip())


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
  const boxes = {};
  for (const plot of document.querySelectorAll('.plot')) {
    const box = plot.getBoundingClientRect();
    boxes[plot.id] = [box.left, box.top, box.right, box.bottom].map(Math.round);
  }
  document.body.dataset.told = JSON.stringify({failures, boxes, width: document.documentElement.scrollWidth});
}, 3000));</script>"""


class Look(NamedTuple):
    """What the browser made of the report."""

    page: Page
    failures: list[str]
    boxes: dict[str, list[int]]
    width: int
    picture: Path


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
    found = re.search(r'data-told="([^"]*)"', dom)
    assert found is not None
    told = json.loads(found.group(1).replace("&quot;", '"'))
    return Look(page, told["failures"], told["boxes"], told["width"], picture)


def test_the_report_draws_without_an_error(look: Look) -> None:
    assert look.failures == []
    assert set(look.page.paths) == {"ownership-0", "lag-0", "ownership-1", "lag-1", "pauses", "moves"}
    assert look.width <= WIDTH


def test_every_hold_is_a_bar(demo: Demo, look: Look) -> None:
    for place, one in enumerate(demo.results["strategies"]):
        shown = [hold for hold in one["holds"] if hold["end"] > -1]
        assert look.page.bars[f"ownership-{place}"] >= len(shown) >= PARTITIONS
    assert look.page.paths["moves"] >= len(STRATEGIES)
    assert look.page.paths["pauses"] >= len(demo.results["strategies"][0]["pauses"])


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
