"""Pure: what the load model expected, as a figure."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from demo.pipeline.results import HoursResult
from kafka_assignors.report.drawing import Figure, axis, layout, legend_below

_CAME, _FORECAST, _NAIVE = "#CBD2D9", "#0072B2", "#E69F00"


def hours(one: HoursResult) -> Figure:
    """Draw what came in each hour, what was forecast, and what the hour before again would have said."""
    begins = datetime.fromtimestamp(one["begins"], timezone.utc)
    at = [f"{begins + timedelta(hours=hour):%Y-%m-%d %H:%M}" for hour in range(len(one["came"]))]
    look = layout(height=400, bottom=96)
    look |= {
        "xaxis": axis("hour (UTC)", None) | {"type": "date", "showgrid": False},
        "yaxis": axis("records in the hour", None) | {"rangemode": "tozero", "tickformat": ","},
        "hovermode": "x unified",
    }
    legend_below(look)
    came = {
        "type": "bar",
        "name": "came",
        "x": at,
        "y": one["came"],
        "marker": {"color": _CAME},
        "hovertemplate": "%{y:,}<extra>came</extra>",
    }
    lines = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": name,
            "x": at,
            "y": values,
            "line": {"width": 2, "color": colour},
            "hovertemplate": f"%{{y:,.0f}}<extra>{name}</extra>",
        }
        for name, values, colour in (
            ("the hour before again", one["naive"], _NAIVE),
            ("forecast", one["forecast"], _FORECAST),
        )
    ]
    return {"data": [came, *lines], "layout": look}
