"""Settings of the documentation site: ``make docs``."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from dataclasses import fields

from kafka_assignors import __version__
from kafka_assignors.assignor.lag.options import CooperativeLagOptions, LagOptions
from kafka_assignors.assignor.options import Options, StickyOptions
from kafka_assignors.cli.size.serve import METRICS
from kafka_assignors.metrics.names import COORDINATOR, OWN, STATEFUL
from kafka_assignors.pipeline.tables.schemas import LOAD, SAMPLES
from kafka_assignors.strategies.failover import FailoverOptions

project = "kafka-assignors"
author = "the kafka-assignors contributors"
release = version = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinxcontrib.programoutput"]
exclude_patterns = ["_build"]

# --- pages -----------------------------------------------------------------------------------------------

myst_enable_extensions = ["substitution"]
myst_heading_anchors = 4

# --- tables of the code's data ---------------------------------------------------------------------------


def table(head: str, rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table; the first cell of each row is code."""
    cells = ([f"`{name}`", *(text.replace("|", r"\|") for text in texts)] for name, *texts in rows)
    lines = [head, re.sub(r"[^|]+", "---", head), *(f"| {' | '.join(row)} |" for row in cells)]
    return "\n".join(lines)


def column_rows(ddl: str) -> list[tuple[str, ...]]:
    """Return name, type and comment of each column."""
    return [
        re.fullmatch(r" +(\w+) (\w+)(?: NOT NULL)?(?: COMMENT '(.*)')?,?", line).groups("")
        for line in ddl.strip("\n").splitlines()
    ]


def option_rows(kind: type[Options]) -> list[tuple[str, str, str]]:
    """Return name, default and docstring's text of each option that a class adds."""
    texts = dict(re.findall(r"^    (\w+): (.*(?:\n {8}.*)*)", inspect.getdoc(kind) or "", re.MULTILINE))
    defaults = {field.name: field.default for field in fields(kind)}
    return [
        (name, shown(defaults[name]), " ".join(texts[name].split())) for name in inspect.get_annotations(kind)
    ]


def shown(default: object) -> str:
    """Return a default as a program has it."""
    is_number = isinstance(default, (int, float)) and not isinstance(default, bool)
    return f"`{default:_}`" if is_number else f"`{getattr(default, '__name__', default)}`"


_METRICS = "| metric | unit | meaning |"
_COLUMNS = "| column | type | |"
_OPTIONS = "| option | default | meaning |"
myst_substitutions = {
    "coordinator_metrics": table(_METRICS, COORDINATOR),
    "plan_metrics": table(_METRICS, OWN),
    "stateful_metrics": table(_METRICS, STATEFUL),
    "size_metrics": table("| metric | meaning |", METRICS.items()),
    "sample_columns": table(_COLUMNS, column_rows(SAMPLES)),
    "load_columns": table(_COLUMNS, column_rows(LOAD)),
    "options": table(_OPTIONS, option_rows(Options)),
    "sticky_options": table(_OPTIONS, option_rows(StickyOptions)),
    "lag_options": table(_OPTIONS, option_rows(LagOptions)),
    "cooperative_lag_options": table(_OPTIONS, option_rows(CooperativeLagOptions)),
    "failover_options": table(_OPTIONS, option_rows(FailoverOptions)),
}

# --- API -------------------------------------------------------------------------------------------------

# The extras are large, and their names are imported where they are used.
autodoc_mock_imports = [
    *("filelock", "jgo", "opentelemetry", "pandas", "plotly", "prometheus_client", "psutil", "pyarrow"),
    *("pyspark", "rocksdict"),
]
autodoc_member_order = "groupwise"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented_params"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
python_use_unqualified_type_names = True
# Docstrings name code in single backticks.
default_role = "code"

# --- HTML ------------------------------------------------------------------------------------------------

html_theme = "furo"
html_title = f"kafka-assignors {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_theme_options = {"navigation_with_keys": True}
pygments_style = "friendly"
pygments_dark_style = "monokai"
