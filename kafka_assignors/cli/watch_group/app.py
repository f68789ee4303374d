"""The terminal application of ``watch``: polls in the background, and draws the last look at the group."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import ClassVar, TypeVar

from rich.text import Text
from textual.app import App, ComposeResult, ScreenStackError
from textual.binding import Binding, BindingType
from textual.coordinate import Coordinate
from textual.css.query import NoMatches
from textual.events import Resize
from textual.widgets import DataTable, Footer, Static

from kafka_assignors.background import Background
from kafka_assignors.cli.watch_group.frame import OF_MEMBERS, OF_PARTITIONS, Column, Frame, Rows, Sort
from kafka_assignors.cli.watch_group.history import RebalanceHistory
from kafka_assignors.cli.watch_group.rebalance_log import RebalanceLog
from kafka_assignors.cli.watch_group.source import GroupLag, GroupSource, Observation
from kafka_assignors.errors import BrokerError, KafkaAssignorsError
from kafka_assignors.lag.sources import one_line

_SCROLL_BAR = 2  # columns

T = TypeVar("T")


class WatchApp(App[None]):
    """Shows a group until the user quits.

    One thread looks at the group and another one reads the lag.  While a broker is down, reading the lag
    takes seconds, and the looks must not miss rebalances meanwhile.
    """

    CSS = """
    #head { height: auto; }
    #table { height: auto; max-height: 60%; background: ansi_default; color: ansi_default; }
    #table > .datatable--header { background: ansi_default; color: ansi_default; text-style: bold underline; }
    #log { height: 1fr; border-top: solid ansi_bright_black; border-title-color: ansi_default; }
    #log:focus { border-top: solid ansi_blue; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,ctrl+c", "quit", "quit", key_display="q", priority=True),
        Binding("s", "sort", "sort"),
        Binding("p", "partitions", "members/partitions"),
        Binding("f,space", "freeze", "freeze", key_display="f"),
        Binding("tab", "app.focus_next", "next pane", show=False),
    ]
    ENABLE_COMMAND_PALETTE = False

    def __init__(
        self,
        source: GroupSource,
        first: Observation,
        interval_s: float,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__()
        self.theme = "ansi-dark"  # the terminal's own colours, dark or light
        self._source = source
        self._interval_s = interval_s
        self._clock = clock
        self._history = RebalanceHistory()
        self._history.add(first.snapshot)
        self._opened_s = first.snapshot.time_s
        self._look = first
        self._lag = first.lag
        self._newest = self._shown = self._frame()
        self._drawn = Rows([], [])
        self._sort = Sort.NAME
        self._shows_partitions = False
        self._is_frozen = False
        self._background = Background("watch")
        self._lag_background = Background("watch-lag")
        self._is_reading_lag = False

    def compose(self) -> ComposeResult:
        """Lay out the head, the table, the log of rebalances, and the keys."""
        yield Static(id="head")
        yield DataTable(id="table", cursor_type="none", zebra_stripes=False)
        yield RebalanceLog(id="log")
        yield Footer(compact=True)

    def on_mount(self) -> None:
        """Start polling; SIGTERM ends the application as ``q`` does."""
        with suppress(NotImplementedError, RuntimeError, ValueError):  # Windows; not the main thread
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self.exit)
        self._background.submit(self._poll, self._interval_s)
        self._start_reading_lag()

    def on_unmount(self) -> None:
        """Stop polling.  Do not wait for a look that is running."""
        self._background.stop()
        self._lag_background.stop()

    def on_resize(self, _: Resize) -> None:
        """Draw for the new width."""
        self._draw()

    def action_sort(self) -> None:
        """Sort by the next column."""
        self._sort = self._sort.following(OF_PARTITIONS if self._shows_partitions else OF_MEMBERS)
        self._draw()

    def action_partitions(self) -> None:
        """Switch between members and partitions."""
        self._shows_partitions = not self._shows_partitions
        self._draw()

    def action_freeze(self) -> None:
        """Freeze the screen, or return to the newest look."""
        self._is_frozen = not self._is_frozen
        self._shown = self._newest
        self._draw()

    def _on_looked(self, look: Observation | KafkaAssignorsError) -> None:
        with suppress(NoMatches, ScreenStackError):  # the application ends
            self.show(look)
            if isinstance(look, Observation):
                self._start_reading_lag()

    def _on_lag_read(self, lag: GroupLag | KafkaAssignorsError) -> None:
        self._is_reading_lag = False
        with suppress(NoMatches, ScreenStackError):  # the application ends
            self.show_lag(lag)

    def show(self, look: Observation | KafkaAssignorsError) -> None:
        """Show the next look.  If it failed, show the error above the last figures."""
        if isinstance(look, KafkaAssignorsError):
            self._show(replace(self._newest, trouble=str(look)))
        else:
            self._history.add(look.snapshot)
            self._look = look
            self._show(self._frame())

    def show_lag(self, lag: GroupLag | KafkaAssignorsError) -> None:
        """Show the next lag.  If it could not be read, show the error and the last lag."""
        if isinstance(lag, KafkaAssignorsError):
            lag = replace(self._lag, problem=f"lag not read: {lag}")
        self._lag = lag
        self._show(replace(self._newest, last=self._look.with_lag(lag)))

    def _show(self, frame: Frame) -> None:
        self._newest = frame
        if not self._is_frozen:
            self._shown = frame
            self._draw()

    def _poll(self) -> None:
        """Look at the group, and schedule the next look.  Runs on a background thread."""
        look = _result(self._source.read)
        with suppress(RuntimeError):  # the application has ended
            self.call_later(self._on_looked, look)
        self._background.submit(self._poll, self._interval_s)

    def _start_reading_lag(self) -> None:
        """Read the lag of the newest look, unless a lag is being read."""
        if not self._is_reading_lag:
            self._is_reading_lag = True
            self._lag_background.submit(partial(self._read_lag, self._look))

    def _read_lag(self, look: Observation) -> None:
        lag = _result(lambda: self._source.read_lag(look))
        with suppress(RuntimeError):  # the application has ended
            self.call_later(self._on_lag_read, lag)

    def _frame(self) -> Frame:
        history = self._history
        return Frame(
            self._look.with_lag(self._lag),
            history.owners,
            tuple(history.rebalances),
            self._opened_s,
            history.rebalancing_s,
            self._interval_s,
        )

    def _draw(self) -> None:
        frame, width, now_s = self._shown, self.size.width, self._clock()
        head = frame.head(width, self._is_frozen, now_s)
        self.query_one("#head", Static).update(Text("\n").join(head))
        rows_of = frame.partitions if self._shows_partitions else frame.members
        rows = rows_of(self._sort, width - _SCROLL_BAR)
        self._fill(self.query_one("#table", DataTable), rows)
        self.query_one("#log", RebalanceLog).draw(frame.rebalances, width - _SCROLL_BAR, now_s)

    def _fill(self, table: DataTable[Text], rows: Rows) -> None:
        """Fill the table, or change only the cells that differ, because filling thousands of rows is slow."""
        drawn, self._drawn = self._drawn, rows
        if drawn.columns == rows.columns and len(drawn.cells) == len(rows.cells):
            for y, (old, new) in enumerate(zip(drawn.cells, rows.cells, strict=True)):
                for x, cell in enumerate(new):
                    if cell != old[x]:
                        table.update_cell_at(Coordinate(y, x), _text(cell, rows.columns[x]))
            return
        top = table.scroll_y
        table.clear(columns=True)
        for column in rows.columns:
            table.add_column(_text(column.name, column), width=column.width)
        table.add_rows([map(_text, cells, rows.columns) for cells in rows.cells])
        table.scroll_to(y=top, animate=False)


def _result(read: Callable[[], T]) -> T | KafkaAssignorsError:
    """Return the result of a read, or why it failed."""
    try:
        return read()
    except KafkaAssignorsError as error:
        return error
    except Exception as error:  # members and brokers may send any bytes, and the view must go on
        return BrokerError(f"the response cannot be read: {one_line(error)}")


def _text(text: str, column: Column) -> Text:
    return Text(text, justify="right" if column.is_number else "left", no_wrap=True)
