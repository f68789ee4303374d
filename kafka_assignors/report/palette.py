"""Colours of members and strategies, in the terminal and in the report, and the inks of the report.

The first ten members use Paul Tol's *bright* and *muted* schemes, the first six strategies Okabe and Ito's,
which are distinct with any colour vision.  Each later colour was chosen greedily, as far in OKLab as sRGB
allows from the greys and all earlier ones.  In each list, the two colours closest to each other come from the
schemes.
"""

from __future__ import annotations

INK, SOFT, GRID = "#1F2933", "#616E7C", "#E4E7EB"
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', Helvetica, Arial, sans-serif"

MEMBERS = (
    *("#4477AA", "#EE6677", "#228833", "#CCBB44", "#66CCEE", "#AA3377", "#999933", "#882255"),
    *("#44AA99", "#332288", "#FF00FF", "#8800FF", "#00FF00", "#0000FF", "#FF99FF", "#995500"),
    *("#AA77FF", "#005522", "#66EEAA", "#00BB00", "#DD0000", "#3366FF", "#663300", "#EE0099"),
    *("#7700AA", "#BB00CC", "#FFAA99", "#005577", "#4499FF", "#8855BB", "#EE8822", "#4444BB"),
)
NO_OWNER = "#D9DDE3"
STRATEGIES = (
    *("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00"),
    *("#56B4E9", "#00FF00", "#9900FF", "#990066", "#0000BB"),
)


def member_number(name: str) -> int:
    """Return the number in a member's name (3 in ``m3``), by which members are sorted."""
    return int(name.lstrip("m"))


def member_colour(name: str) -> str:
    """Return the colour of ``m1``, ``m2`` and so on; after 32 they repeat."""
    return MEMBERS[(member_number(name) - 1) % len(MEMBERS)]


def strategy_colour(place: int) -> str:
    """Return the colour of the strategy at ``place`` (from 0) in the order of runs; after ten they repeat."""
    return STRATEGIES[place % len(STRATEGIES)]
