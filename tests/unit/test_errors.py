"""Errors, where they are raised in one process and caught in another."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from kafka_assignors import ConfigurationError, errors

MADE_OF: dict[str, tuple[str, ...]] = {
    "OptionError": ("max_requests", "0 is too few"),
    "MissingExtraError": ("stateful", "rocksdict"),
}


def sent(error: Any) -> Any:
    """As a process that gets it has it."""
    return pickle.loads(pickle.dumps(error))  # noqa: S301  # our own bytes


def assert_same(found: Any, error: Any) -> None:
    assert type(found) is type(error)
    assert str(found) == str(error)
    assert found.args == error.args
    assert vars(found) == vars(error)


@pytest.mark.parametrize("name", [name for name in vars(errors) if name.endswith("Error")])
def test_error_survives_pickling(name: str) -> None:
    """Spark and process pools pickle the errors of their workers."""
    error = getattr(errors, name)(*MADE_OF.get(name, ("the disk is full",)))
    error.told = 7  # as `add_note` does, from 3.11 on
    for found in (sent(error), copy.copy(error), sent(sent(error))):
        assert_same(found, error)


def test_error_with_a_builtin_base_survives_pickling() -> None:
    error = ConfigurationError("rack", "an empty name")
    assert_same(sent(error), error)
    assert (sent(error).option, sent(error).reason) == ("rack", "an empty name")


def test_missing_module_is_an_error_of_its_extra() -> None:
    with pytest.raises(errors.MissingExtraError) as caught, errors.needs_extra("broker"):
        raise ModuleNotFoundError("No module named 'absent.tests'", name="absent.tests")
    assert (caught.value.extra, caught.value.missing) == ("broker", "absent")
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)


def test_missing_part_of_a_loaded_package_is_named() -> None:
    """The package is installed, perhaps in an older version."""
    with pytest.raises(errors.MissingExtraError) as caught, errors.needs_extra("broker"):
        raise ModuleNotFoundError("No module named 'numpy.absent'", name="numpy.absent")
    assert caught.value.missing == "numpy.absent"


@pytest.mark.parametrize(
    "error",
    [
        ModuleNotFoundError("No module named 'kafka_assignors.lost'", name="kafka_assignors.lost"),
        ImportError("cannot import name 'lost' from 'psutil'", name="psutil"),
        ModuleNotFoundError("No module named 'kafka.lost'", name="kafka.lost"),
        ModuleNotFoundError("No module named '_sqlite3'", name="_sqlite3"),
        ImportError("librocksdb.so: cannot open shared object file"),
        ModuleNotFoundError("raised by hand, without a name"),
        errors.MissingExtraError("stateful", "rocksdict"),
    ],
)
def test_failed_import_of_another_kind_passes_unchanged(error: ImportError) -> None:
    with pytest.raises(ImportError) as caught, errors.needs_extra("broker"):
        raise error
    assert caught.value is error
