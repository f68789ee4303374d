"""The HTML report: one self-contained file that needs no network.

``render`` is pure: results in, text out; so it can draw a recorded results.json as well, with any number of
strategies.
"""

from __future__ import annotations

from demo.report.page import EXTRA, render

__all__ = ["EXTRA", "render"]
