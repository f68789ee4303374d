from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.stateful.bench import Bench


@pytest.fixture
def bench(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Bench]:
    """A member; its options are the parameter of the fixture."""
    bench = Bench(tmp_path, **getattr(request, "param", {}))
    yield bench
    bench.close()
