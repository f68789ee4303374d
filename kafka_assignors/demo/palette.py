"""Colours of the members, the same in the terminal and in the report.

Paul Tol's *bright* and *muted* schemes, made to be told apart with any colour vision; grey stays free for
"nobody".
"""

from __future__ import annotations

MEMBERS = (
    "#4477AA",
    "#EE6677",
    "#228833",
    "#CCBB44",
    "#66CCEE",
    "#AA3377",
    "#999933",
    "#882255",
    "#44AA99",
    "#332288",
)
NOBODY = "#D9DDE3"
STRATEGIES = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")


def member_colour(name: str) -> str:
    """Return the colour of ``m1``, ``m2`` and so on; after ten they repeat."""
    return MEMBERS[(int(name.lstrip("m")) - 1) % len(MEMBERS)]


def ink_on(colour: str) -> str:
    """Return ``black`` or ``white``, whichever reads better on a colour."""
    red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else "white"


def strategy_colour(place: int) -> str:
    """Return the colour of the strategy that ran at ``place`` (from 0)."""
    return STRATEGIES[place % len(STRATEGIES)]
