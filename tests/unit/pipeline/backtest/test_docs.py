"""docs/reference/backtest.md leaves out no column and no parameter."""

from __future__ import annotations

import re

from kafka_assignors.cli.backtest.options import BY_DEFAULT
from kafka_assignors.pipeline.backtest.files import RESULTS
from kafka_assignors.pipeline.backtest.grid import CHOICES, SURROUNDINGS
from kafka_assignors.pipeline.backtest.job import SERIES
from tests.support.examples import ROOT

PAGE = (ROOT / "docs" / "reference" / "backtest.md").read_text(encoding="utf-8")


def test_docs_list_the_columns_of_results() -> None:
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \| (int32|int64|double|string) \|", PAGE, re.MULTILINE)
    documented = {name: kind for names, kind in rows for name in re.findall(r"\w+", names)}
    assert documented == RESULTS


def test_docs_name_every_column_of_series() -> None:
    paragraph = PAGE[PAGE.index("`series.parquet` is a folder") : PAGE.index("`results.json` has")]
    assert set(re.findall(r"`(\w+)`", paragraph)) == set(SERIES)


def test_docs_name_every_parameter() -> None:
    for name in (*CHOICES, *SURROUNDINGS):
        assert f"`{name}" in PAGE, name


def test_failover_is_not_tried_by_default() -> None:
    assert "failover" not in BY_DEFAULT
