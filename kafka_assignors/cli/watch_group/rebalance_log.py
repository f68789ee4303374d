"""The log of rebalances: a scrolling pane with an entry for each rebalance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Static

from kafka_assignors.cli.watch_group.history import SeenRebalance
from kafka_assignors.cli.watch_group.text import rebalance_lines

_DAY_S = 86_400


class RebalanceLog(VerticalScroll, can_focus=True):
    """Shows rebalances, newest first.

    Each has its own widget, because Textual renders only the widgets in view.
    """

    BORDER_TITLE = "rebalances"

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._entries: list[_Entry] = []  # newest first

    def compose(self) -> ComposeResult:
        """Show that no rebalance was seen yet."""
        yield Static(Text("none seen yet", "dim"), id="none")

    def draw(self, rebalances: Sequence[SeenRebalance], width: int, now_s: float) -> None:
        """Add entries for new rebalances at the top, and remove those of rebalances no longer in the list."""
        drawn_ids, listed_ids = {id(entry.rebalance) for entry in self._entries}, {*map(id, rebalances)}
        added = [_Entry(rebalance) for rebalance in reversed(rebalances) if id(rebalance) not in drawn_ids]
        for entry in self._entries:
            if id(entry.rebalance) not in listed_ids:
                entry.remove()
        self._entries = added + [entry for entry in self._entries if id(entry.rebalance) in listed_ids]
        if added:
            self.query_one("#none").display = False
            self.mount(*added, before=0)
        for entry in self._entries:
            entry.draw(width, now_s)


class _Entry(Static):
    def __init__(self, rebalance: SeenRebalance) -> None:
        super().__init__()
        self.rebalance = rebalance
        self._width_and_day: tuple[int, int] | None = None

    def draw(self, width: int, now_s: float) -> None:
        """Make the lines, unless the width and the day are the same as before."""
        width_and_day = width, int(now_s // _DAY_S)
        if width_and_day != self._width_and_day:
            self._width_and_day = width_and_day
            self.update(Text("\n").join(rebalance_lines(self.rebalance, width, now_s)))
