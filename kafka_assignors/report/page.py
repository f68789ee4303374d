"""Renders a report as one self-contained page: Jinja2 templates around figures that plotly serialises."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafka_assignors.errors import require_modules
from kafka_assignors.report import palette
from kafka_assignors.report.rows import in_seconds


def require_plotly(extra: str) -> None:
    """Check early that `html_page` can run.

    Raises:
        MissingExtraError: plotly or Jinja2 is not installed.
    """
    require_modules(extra, {"plotly": "plotly (which draws the report)", "jinja2": "Jinja2"})


def plotly_js() -> str:
    """Return plotly.js, about 5 MB."""
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())


def html_page(
    template: str, *packages: str, figures: Mapping[str, Any], colours: Mapping[str, str], **values: object
) -> str:
    """Render a template that extends ``page.html``.

    Args:
        template: name of the template.
        packages: packages whose ``templates`` folder is searched, before this package's.
        figures: id of an element -> the plotly figure drawn in it.
        colours: colour of each strategy, for the macros of ``parts.html``.
        values: the template's other variables.

    Returns:
        The page, with plotly.js inside.
    """
    import jinja2
    from markupsafe import Markup

    places = [jinja2.PackageLoader(package) for package in (*packages, "kafka_assignors.report")]
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader(places),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"fmt": _formatted, "seconds": in_seconds}
    # plotly escapes "<", ">" and "/" in its JSON, so that no text can end the script element.
    drawn = ",\n".join(f'"{name}":{figure.to_json()}' for name, figure in figures.items())
    return environment.get_template(template).render(
        plotly_js=Markup(plotly_js()),  # noqa: S704  # plotly's own
        figures=Markup(f"{{{drawn}}}"),  # noqa: S704
        palette=palette,
        colours=colours,
        **values,
    )


def _formatted(value: float | None, spec: str = ",") -> str:
    return "-" if value is None else format(value, spec)
