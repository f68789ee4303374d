"""The one thing taken from plotly, which ships no types: its JavaScript."""

from __future__ import annotations

from kafka_assignors.errors import MissingExtraError


def plotly_js() -> str:
    """Return plotly.js, about 5 MB.

    Raises:
        MissingExtraError: plotly is not installed.
    """
    try:
        from plotly.offline import get_plotlyjs
    except ModuleNotFoundError:
        raise MissingExtraError("demo", "plotly (which draws the report)") from None
    return str(get_plotlyjs())
