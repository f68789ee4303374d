"""The names that notebooks import."""

from __future__ import annotations

import pytest

from kafka_assignors import pipeline


@pytest.mark.parametrize("name", pipeline.__all__)
def test_every_name_of_the_face_exists(name: str) -> None:
    assert getattr(pipeline, name).__name__ == name


def test_another_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'lode'"):
        _ = pipeline.lode
