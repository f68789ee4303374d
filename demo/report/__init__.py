"""The HTML report of a demo: one self-contained file that needs no network.

``render`` is pure: results in, text out, so it renders a recorded results.json too.
"""

from __future__ import annotations

from demo.report.page import EXTRA, render

__all__ = ["EXTRA", "render"]
