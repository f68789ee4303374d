"""Strategies are found by name, and a user's own by ``module:Class``."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kafka_assignors import ConfigurationError, RangeAssignor, strategy
from kafka_assignors.strategies import load_strategy
from tests.support.group import own_strategies

OWN = "tests.support.group.own_strategies"


def test_name_and_class_are_found() -> None:
    assert load_strategy("range") is RangeAssignor
    assert load_strategy(f"{OWN}:ToTheFirst") is own_strategies.ToTheFirst


def test_module_in_the_current_folder_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with ``python -m``, also for a console script, which has no current folder on its path."""
    (tmp_path / "just_here.py").write_text(
        f"from {OWN} import ToTheFirst\nclass Mine(ToTheFirst):\n    name = 'mine'\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place != ""])
    assert load_strategy("just_here:Mine").name == "mine"


def test_deleted_current_folder_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place != ""])
    (tmp_path / "gone").rmdir()
    assert load_strategy("kafka_assignors:RangeAssignor").name == "range"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("no_such_module:Mine", "no module 'no_such_module'"),
        ("no_such_package.part:Mine", "no module 'no_such_package.part'"),
        ("tests.no_such_part:Mine", "no module 'tests.no_such_part'"),
        (":Mine", "cannot import module '': ValueError: Empty module name"),
        ("broken:Mine", "cannot import module 'broken': ModuleNotFoundError: No module named 'not_there'"),
        ("ends:Mine", "cannot import module 'ends': SystemExit: 3"),
        (f"{OWN}:Mine", f"module '{OWN}' has no class 'Mine'"),
        (f"{OWN}:", f"module '{OWN}' has no class ''"),
        (f"{OWN}:NUMBER", f"'{OWN}:NUMBER' is no subclass of kafka_assignors.Assignor"),
        (f"{OWN}:LeastOptions", f"'{OWN}:LeastOptions' is no subclass of kafka_assignors.Assignor"),
        (f"{OWN}:Unfinished", f"'{OWN}:Unfinished' does not define plan"),
    ],
)
def test_load_strategy_refuses_with_one_sentence(
    name: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken.py").write_text("import not_there\n")
    (tmp_path / "ends.py").write_text("raise SystemExit(3)\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigurationError) as error:
        load_strategy(name)
    assert (error.value.option, error.value.reason) == ("strategy", reason)


def test_public_lookup_imports_no_modules() -> None:
    """A name from a file or a network must not run code."""
    with pytest.raises(ConfigurationError, match=r"unknown 'tests\.support"):
        strategy(f"{OWN}:ToTheFirst")
