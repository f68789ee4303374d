"""The integration tests that take longest begin first."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from tests.integration.conftest import FOLDER, LONGEST, pytest_collection_modifyitems


def test_longest_files_exist() -> None:
    """A file that was renamed would silently come last."""
    assert [path for path in LONGEST if not path.is_file()] == []


def test_only_integration_tests_change_their_order() -> None:
    longest, elsewhere = min(LONGEST), Path("tests/unit/suite/test_order.py").absolute()
    items = [SimpleNamespace(path=path) for path in (FOLDER / "test_a.py", elsewhere, longest)]
    pytest_collection_modifyitems(cast(Any, items))
    assert [item.path for item in items] == [longest, elsewhere, FOLDER / "test_a.py"]
