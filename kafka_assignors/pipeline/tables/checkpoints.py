"""Checks that a stream's checkpoint belongs to its settings and to the files that it has landed.

A recorder describes itself in ``about.json`` of its checkpoint, the load model in ``_model.json``.  A check
that fails raises a `PipelineError`, which ends with the remedy.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafka_assignors.errors import PipelineError
from kafka_assignors.pipeline.tables.storage import Storage
from kafka_assignors.strict_json import read_json

LEARN_AGAIN = "to learn again from all samples, remove load/ and checkpoints/load"
"""Remedy for a checkpoint of the load model that cannot be used."""


def read_object(storage: Storage, name: str, kinds: Mapping[str, type], remedy: str) -> dict[str, Any] | None:
    """Read a JSON object with values of these types; None if the file does not exist."""
    if (text := storage.read(name)) is None:
        return None
    try:
        stored = read_json(text)
    except ValueError:
        stored = None
    if not isinstance(stored, dict) or not all(isinstance(stored.get(n), kinds[n]) for n in kinds):
        raise PipelineError(f"{storage.root}/{name} is damaged, or of another program: {remedy}")
    return stored


def check_settings(
    storage: Storage, checkpoint: str, known: Mapping[str, Any], wanted: Mapping[str, Any], remedy: str
) -> None:
    """Check that a checkpoint was made with the wanted settings."""
    changes = ", ".join(
        f"{name} {known.get(name)}, not {wanted.get(name)}"
        for name in sorted({*known, *wanted})
        if known.get(name) != wanted.get(name)
    )
    if changes:
        raise PipelineError(f"{checkpoint} in {storage.root} was made with {changes}: {remedy}")


def check_age(storage: Storage, checkpoint: str, folder: str, landed: int, remedy: str) -> None:
    """Check that a checkpoint has the newest landed batch.  A checkpoint from an older backup lacks it.

    Spark plans a batch in the checkpoint before the batch lands.
    """
    planned = storage.newest_batch(f"{checkpoint}/offsets")
    if landed > planned:
        state = "is gone" if planned < 0 else f"is older (batch {planned})"
        raise PipelineError(
            f"{checkpoint} in {storage.root} {state}, but {folder} has batch {landed}, so going on would "
            f"lose rows or write them twice: restore its newest state, or {remedy}"
        )
