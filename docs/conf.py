"""Settings of the documentation site: ``make docs``."""

from __future__ import annotations

from kafka_assignors import __version__

project = "kafka-assignors"
author = "the kafka-assignors contributors"
release = version = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinxcontrib.programoutput"]
exclude_patterns = ["_build"]

# --- pages -----------------------------------------------------------------------------------------------

myst_heading_anchors = 4

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
