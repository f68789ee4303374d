"""Reports, opened in a browser: what is drawn, what is written, what can be seen."""

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

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
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
WIDTH = 1400


class Page(HTMLParser):
    """Reads the plots of a page.  plotly puts the bars of each trace in a group of their own.

    Attributes:
        bars: id of the plot -> the number of bars of each trace.
        texts: id of the plot -> its texts.
    """

    def __init__(self) -> None:
        super().__init__()
        self.bars: dict[str, list[int]] = {}
        self.texts: dict[str, list[str]] = {}
        self._now = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        classes = (values.get("class") or "").split()
        if tag == "div" and "plot" in classes:
            self._now = values.get("id") or ""
            self.bars[self._now], self.texts[self._now] = [], []
        elif self._now and tag == "g" and {"trace", "bars"} <= set(classes):
            self.bars[self._now].append(0)
        elif self._now and tag == "g" and classes == ["point"]:
            self.bars[self._now][-1] += 1

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


def browse(page: Path, height: int, *arguments: str) -> str:
    """Open a page in a browser with an empty profile; return what it prints."""
    with tempfile.TemporaryDirectory() as profile:
        ended = subprocess.run(
            [
                browser(),
                *QUIET,
                f"--user-data-dir={profile}",
                f"--window-size={WIDTH},{height}",
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
    """The report as the browser rendered it."""

    page: Page
    failures: list[str]
    boxes: dict[str, list[int]]
    width: int
    height: int
    picture: Path
    labels: list[tuple[str, float, float, float, float]]

    def labels_in_pairs(self) -> Iterator[tuple[str, Sequence[float], Sequence[float]]]:
        """Yield each two labels of one plot as left, top, right and bottom."""
        for (plot, *one), (of_plot, *other) in itertools.combinations(self.labels, 2):
            if plot == of_plot:
                yield plot, one, other


def look_at(report: Path, height: int) -> Look:
    """Open a report twice: as it is, for its picture, and with a script that tells where things are."""
    picture = report.with_suffix(".png")
    browse(report, height, f"--screenshot={picture}")
    talking = report.with_name("talking.html")
    text = report.read_text(encoding="utf-8")
    talking.write_text(
        text.replace("<head>", f"<head>{WATCH_ERRORS}", 1).replace("</body></html>", f"{TELL}</body></html>"),
        "utf-8",
    )
    dom = browse(talking, height, "--dump-dom")
    page = Page()
    page.feed(dom[dom.index("<main") : dom.index("</main>")])
    found = re.search(r'data-layout="([^"]*)"', dom)
    assert found is not None
    layout = json.loads(found.group(1).replace("&quot;", '"'))
    return Look(page, layout["failures"], layout["boxes"], layout["width"], height, picture, layout["labels"])


def vivid_colours(look: Look) -> Iterator[tuple[str, dict[tuple[int, ...], int], int]]:
    """Each plot with its strong colours and their pixels, and its pixels in all."""
    with Image.open(look.picture) as picture:
        assert picture.size == (WIDTH, look.height)
        seen = picture.convert("RGB")
    for plot, (left, top, right, bottom) in look.boxes.items():
        assert bottom < look.height, plot
        counts = seen.crop((left, top, right, bottom)).getcolors(maxcolors=1 << 24) or []
        vivid = {
            colour: count
            for count, colour in counts
            if isinstance(colour, tuple) and max(colour) - min(colour) > 60 and count > 60
        }
        yield plot, vivid, (right - left) * (bottom - top)
