"""The manifests of docs/_static/kubernetes fit the schemas of KEDA and Kubernetes."""

from __future__ import annotations

import json
from copy import deepcopy
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
import yaml

from kafka_assignors.cli.size.serve import METRICS
from tests.contract.schema_check import schema_check
from tests.unit.cli.size.sized_group import shown_report

ROOT = Path(__file__).parents[2]
SCHEMAS = Path(__file__).parent / "schemas"
MANIFESTS: dict[str, Any] = {
    manifest.get("kind", "rules"): manifest
    for file in (ROOT / "docs" / "_static" / "kubernetes").glob("*.yaml")
    for manifest in yaml.safe_load_all(file.read_text(encoding="utf-8"))
}
KINDS = [
    ("Deployment", "deployment.json"),
    ("Service", "service.json"),
    ("ScaledObject", "scaledobject.json"),
    ("HorizontalPodAutoscaler", "hpa.json"),
]
FIELDS: dict[str, tuple[list[str | int], str]] = {
    "Deployment": (["template", "spec", "containers", 0, "ports", 0], "containerPort"),
    "Service": (["ports", 0], "port"),
    "ScaledObject": ([], "scaleTargetRef"),
    "HorizontalPodAutoscaler": ([], "scaleTargetRef"),
}
"""A part of each kind's ``spec``, by its path, and a field that it needs."""


def refusal(manifest: Any, schema: str, folder: Path) -> str:
    """Return what check-jsonschema says against a manifest; empty if it is valid."""
    file = folder / "manifest.json"
    file.write_text(json.dumps(manifest), encoding="utf-8")
    return schema_check(file, "--schemafile", SCHEMAS / schema)


@pytest.mark.parametrize(("kind", "schema"), KINDS)
def test_manifest_fits_its_schema(kind: str, schema: str, tmp_path: Path) -> None:
    assert refusal(MANIFESTS[kind], schema, tmp_path) == ""


@pytest.mark.parametrize(("kind", "schema"), KINDS)
def test_mistakes_do_not_fit(kind: str, schema: str, tmp_path: Path) -> None:
    path, required = FIELDS[kind]
    manifest = deepcopy(MANIFESTS[kind])
    part = reduce(lambda part, key: part[key], path, manifest["spec"])
    part["minReplica"] = 1
    del part[required]
    errors = refusal(manifest, schema, tmp_path)
    assert "minReplica" in errors
    assert f"'{required}' is a required property" in errors


def test_manifests_ask_for_what_the_pages_have() -> None:
    (trigger,) = MANIFESTS["ScaledObject"]["spec"]["triggers"]
    assert set(trigger["metadata"]) == {"url", "valueLocation", "targetValue"}
    assert trigger["metadata"]["url"].endswith("/size")
    assert trigger["metadata"]["valueLocation"] in shown_report().as_json()
    (metric,) = MANIFESTS["HorizontalPodAutoscaler"]["spec"]["metrics"]
    name = metric["external"]["metric"]["name"]
    assert name in METRICS
    (rule,) = MANIFESTS["rules"]["externalRules"]
    assert rule["seriesQuery"] == f'{{__name__="{name}"}}'


def test_two_pods_in_a_rollout_do_not_double_the_group() -> None:
    """An HPA adds up the series of an external metric."""
    assert MANIFESTS["Deployment"]["spec"]["strategy"] == {"type": "Recreate"}
    (rule,) = MANIFESTS["rules"]["externalRules"]
    assert rule["metricsQuery"].startswith("max(")
    assert rule["metricsQuery"].endswith(" by (group)")


def test_service_leads_to_the_deployment() -> None:
    template = MANIFESTS["Deployment"]["spec"]["template"]
    service = MANIFESTS["Service"]
    assert MANIFESTS["Deployment"]["spec"]["selector"]["matchLabels"] == template["metadata"]["labels"]
    assert service["spec"]["selector"] == template["metadata"]["labels"]
    (container,) = template["spec"]["containers"]
    (port,) = service["spec"]["ports"]
    assert port["targetPort"] == container["ports"][0]["name"]
    assert container["args"][-1].endswith(f":{container['ports'][0]['containerPort']}")
    (trigger,) = MANIFESTS["ScaledObject"]["spec"]["triggers"]
    assert trigger["metadata"]["url"].startswith(f"http://{service['metadata']['name']}:{port['port']}/")
