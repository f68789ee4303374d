"""kafka-python's private parts: two folders use them, and the installed version has them all."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kafka import KafkaProducer

import kafka_assignors
from kafka_assignors import CooperativeStickyAssignor
from tests.unit.conftest import MakeConsumer

PACKAGE = Path(kafka_assignors.__file__).parent
ALLOWED = [PACKAGE / "assignor" / "coordinator_access", PACKAGE / "consumer" / "continuous"]
OWN_NAMES_OF_OTHERS = {("assignor/base.py", "_generation")}
"""Private names that a module uses on other instances of its own class; kafka-python has the same names."""


def private(name: object) -> bool:
    return isinstance(name, str) and name.isidentifier() and name.startswith("_") and name[1:2] != "_"


def of_another_object(tree: ast.AST) -> set[str]:
    """Private names of objects other than ``self``, also as arguments of ``getattr`` and its like."""
    names = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and private(node.attr)
        and not (isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"})
    }
    strings = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    return names | {str(name) for name in strings if private(name)}


def of_itself(tree: ast.AST) -> set[str]:
    """Private names of ``self``."""
    return {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and private(node.attr)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    }


def defined(tree: ast.AST) -> set[str]:
    """Private names that a module defines: functions, class attributes, and attributes set on ``self``."""
    names: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                names.add(name)
            case ast.Name(id=name, ctx=ast.Store()):
                names.add(name)
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
                names.add(name)
    return names


def modules(*, allowed: bool) -> Iterator[tuple[str, ast.AST]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        if allowed is any(folder in path.parents for folder in ALLOWED):
            yield path.relative_to(PACKAGE).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def parts_of(consumer: Any) -> list[Any]:
    """The objects of a client whose private parts the package uses."""
    coordinator = consumer._coordinator
    return [
        *(consumer, coordinator, coordinator._manager, coordinator._net),
        *(coordinator._cluster, coordinator._subscription, coordinator.heartbeat, consumer._fetcher),
    ]


def in_kafka_python(parts: list[Any]) -> set[str]:
    return {name for part in [*parts, KafkaProducer] for name in dir(part) if private(name)}


def test_private_parts_are_used_in_two_folders_only(consumer: MakeConsumer) -> None:
    theirs = in_kafka_python(parts_of(consumer(CooperativeStickyAssignor)))
    used = {
        (module, name)
        for module, tree in modules(allowed=False)
        for name in (of_another_object(tree) & theirs) - defined(tree)
    }
    assert used - OWN_NAMES_OF_OTHERS == set()


def test_private_parts_that_the_package_uses_exist(consumer: MakeConsumer) -> None:
    member = consumer(CooperativeStickyAssignor)
    # kafka-python leaks the socket if the connection is refused, so use an address that accepts it.
    producer = KafkaProducer(bootstrap_servers=member.config["bootstrap_servers"], api_version=(2, 5))
    try:
        theirs = in_kafka_python([*parts_of(member), producer])
    finally:
        producer.close(timeout=0)
    trees = [tree for _module, tree in modules(allowed=True)]
    ours = set[str]().union(*map(defined, trees))
    foreign = set[str]().union(*map(of_another_object, trees), *map(of_itself, trees)) - ours
    missing = {name for name in foreign - theirs if not name.startswith("_kafka_assignors_")}
    assert missing == {"_getframe"}, "that one is Python's"
    assert len(foreign & theirs) > 20, "the test sees them"
