"""Checks the files in ``docker/`` without an engine, and with Compose if it is installed.

No Docker engine has run here when these files were written: that the image starts with them, and that
``compose down`` takes it away, is what the integration tests show on a machine with
``KAFKA_ASSIGNORS_TEST_BROKER=docker``.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from kafka_assignors.broker.docker import PORT, VERSION, compose_file, prepare
from kafka_assignors.broker.jars.lock import kafka_version
from kafka_assignors.broker.settings import HEAP, JVM_OPTIONS, SETTINGS, environment, listeners
from kafka_assignors.cli import cli
from tests.contract.schema_check import schema_check

ROOT = Path(__file__).parents[2]
BY_HAND = ROOT / "docker" / "compose.yml"
DOCKERFILE = ROOT / "docker" / "Dockerfile"
COMPOSE = ("--builtin-schema", "vendor.compose-spec")

# ${NAME:-default}, ${NAME:?message}, or a plain reference, which compose turns into nothing with a warning.
REFERENCE = re.compile(r"\$(?:\{(?P<name>\w+)(?P<rest>[^}]*)\}|\w+)")


def interpolate(text: str, env: dict[str, str]) -> str:
    """Do what Compose does with ``${NAME:-default}``."""
    return REFERENCE.sub(lambda found: env.get(found["name"]) or found["rest"].removeprefix(":-"), text)


def service(env: dict[str, str] | None = None) -> dict[str, Any]:
    """Return the one service, as Compose would see it under ``env``."""
    parsed = yaml.safe_load(interpolate(compose_file().read_text(encoding="utf-8"), env or {}))
    assert parsed.keys() == {"services"}
    assert parsed["services"].keys() == {"kafka"}
    kafka: dict[str, Any] = parsed["services"]["kafka"]
    return kafka


def by_hand() -> dict[str, Any]:
    """Return the user's file, under the default port."""
    return dict(yaml.safe_load(interpolate(BY_HAND.read_text(encoding="utf-8"), {})))


@pytest.mark.parametrize("file", [compose_file(), BY_HAND], ids=["package", "by hand"])
def test_compose_file_follows_the_specification(tmp_path: Path, file: Path) -> None:
    (tmp_path / "compose.yml").write_text(interpolate(file.read_text(encoding="utf-8"), {}))
    assert schema_check(tmp_path / "compose.yml", *COMPOSE) == ""


def test_merged_properties_follow_the_specification(tmp_path: Path) -> None:
    prepare(("docker", "compose"), tmp_path, 9092, {"num.partitions": "7"})
    assert schema_check(tmp_path / "properties.json", *COMPOSE) == ""


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("stop_grace_period:", "stop_grace:"),
        ("retries:", "retry:"),
        ("    image:", "    image: 1\n    images:"),
    ],
)
def test_schema_check_finds_a_mistake(tmp_path: Path, right: str, wrong: str) -> None:
    text = interpolate(compose_file().read_text(encoding="utf-8"), {})
    assert right in text
    (tmp_path / "compose.yml").write_text(text.replace(right, wrong))
    assert "Schema validation errors" in schema_check(tmp_path / "compose.yml", *COMPOSE)


def test_every_variable_has_a_default_or_is_required() -> None:
    references = list(REFERENCE.finditer(compose_file().read_text(encoding="utf-8")))
    assert {found["name"] for found in references} == {PORT, VERSION}
    for found in references:
        assert re.match(r":-.|:\?.", found["rest"]), found.group()


def test_image_and_jars_have_one_version() -> None:
    assert service()["image"] == f"apache/kafka:{kafka_version()}"


def test_both_brokers_have_the_same_settings() -> None:
    ours = {name: value for name, value in service()["environment"].items() if not name.endswith("_OPTS")}
    addresses = environment({**listeners("", 0, 0), "log.dirs": ""})
    assert {name: value for name, value in ours.items() if name not in addresses} == environment(SETTINGS)
    assert ours.keys() == environment(SETTINGS).keys() | addresses.keys()


def test_both_jvms_have_the_same_options() -> None:
    options = service()["environment"]
    assert options["KAFKA_HEAP_OPTS"] == HEAP
    assert tuple(options["KAFKA_JVM_PERFORMANCE_OPTS"].split()) == JVM_OPTIONS


@pytest.mark.parametrize("port", [9092, 41234])
def test_advertised_port_is_published_on_loopback_only(port: int) -> None:
    kafka = service({PORT: str(port)})
    options = kafka["environment"]
    assert kafka["ports"] == [f"127.0.0.1:{port}:{port}"]
    assert options["KAFKA_ADVERTISED_LISTENERS"] == f"PLAINTEXT://127.0.0.1:{port}"
    assert f"PLAINTEXT://:{port}" in options["KAFKA_LISTENERS"].split(",")
    controller = options["KAFKA_CONTROLLER_QUORUM_VOTERS"].removeprefix("1@")
    assert f"CONTROLLER://{controller}" in options["KAFKA_LISTENERS"].split(",")
    assert kafka["healthcheck"]["test"][-1] == f"127.0.0.1:{port}"


def test_all_values_are_strings() -> None:
    assert {type(value) for value in service()["environment"].values()} == {str}


def test_users_compose_file_includes_the_packages() -> None:
    (included,) = by_hand()["include"]
    assert (BY_HAND.parent / included).resolve() == compose_file().resolve()


def test_users_compose_file_runs_an_existing_command() -> None:
    """With its options, and the broker's address where the command line looks for it."""
    pipeline = by_hand()["services"]["spark"]
    command: click.Command = cli
    words = list(pipeline["command"])
    while isinstance(command, click.Group):
        name, found, words = command.resolve_command(click.Context(command), words)
        assert found is not None, name
        command = found
    context = command.make_context("pipeline", words)
    assert context.params["root"] == "/data"
    (address,) = pipeline["environment"].values()
    assert pipeline["environment"].keys() == {"KAFKA_ASSIGNORS_BOOTSTRAP_SERVERS"}
    assert address == service()["healthcheck"]["test"][-1]
    mounts = dict(volume.split(":")[::-1] for volume in pipeline["volumes"])
    assert mounts["/data"] in by_hand()["volumes"]
    made = " ".join(rest for name, rest in instructions() if name == "RUN")
    assert all(place in made for place in mounts), "a volume takes its owner from the folder in the image"


def test_every_profile_is_shown_with_its_own_down() -> None:
    """``down`` without the profile leaves its service running."""
    text = BY_HAND.read_text(encoding="utf-8")
    for ours in by_hand()["services"].values():
        for profile in ours["profiles"]:
            assert f"docker compose -f docker/compose.yml --profile {profile} down --volumes\n" in text


@pytest.mark.parametrize("file", [compose_file(), BY_HAND], ids=["package", "by hand"])
def test_compose_accepts_the_file(file: Path) -> None:
    command = next((c for c in ("docker compose", "docker-compose") if works(f"{c} version")), None)
    if command is None:
        pytest.skip("no Compose here; it needs no engine for this")
    checked = subprocess.run(
        [*shlex.split(command), "-f", file, "config", "--quiet"], capture_output=True, text=True, check=False
    )
    assert (checked.returncode, checked.stderr) == (0, "")


def works(command: str) -> bool:
    """Say whether ``command`` exists and succeeds."""
    words = shlex.split(command)
    return (
        bool(shutil.which(words[0]))
        and not subprocess.run(words, capture_output=True, check=False).returncode
    )


# --- Dockerfile ---


def instructions() -> list[tuple[str, str]]:
    """Return the Dockerfile's instructions with their arguments, joined where a line ends in a backslash."""
    text = re.sub(r"\\\n\s*", " ", DOCKERFILE.read_text(encoding="utf-8"))
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(line.split(None, 1)[0], line.split(None, 1)[1]) for line in lines]


def test_image_copies_only_existing_files() -> None:
    stages: list[str] = []
    for name, rest in instructions():
        if name == "FROM":
            stages.append(rest.partition(" AS ")[2])
        if name != "COPY":
            continue
        options = [word for word in rest.split() if word.startswith("--")]
        *sources, _ = [word for word in rest.split() if not word.startswith("--")]
        if options:
            assert options[0].removeprefix("--from=") in stages[:-1]
        else:
            assert len(stages) == 1, "the last stage takes nothing from the checkout"
            for source in sources:
                assert (ROOT / source).exists()
    assert len(stages) == 2


def test_image_runs_the_command_line_as_an_unprivileged_user() -> None:
    last = len(instructions()) - 1 - [name for name, _ in instructions()][::-1].index("FROM")
    final = dict(instructions()[last:])
    assert final["ENTRYPOINT"] == '["kafka-assignors"]'
    assert f"--uid 10001 {final['USER']}" in final["RUN"]
    assert final["USER"] not in {"root", "0"}


def test_every_base_image_has_a_tag() -> None:
    for name, rest in instructions():
        if name == "FROM":
            assert re.fullmatch(r"python:3\.1\d-slim(?: AS \w+)?", rest)


def test_build_context_has_only_the_files_pip_needs() -> None:
    ignore = (ROOT / "docker" / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    rules = [line for line in ignore if line and not line.startswith("#")]
    assert rules[0] == "*"
    assert {"!kafka_assignors", "!setup.cfg", "!pyproject.toml", "!README.md", "!LICENSE"} <= set(rules)


def test_extras_of_the_images_exist() -> None:
    assert "/src[${EXTRAS}]" in next(rest for name, rest in instructions() if name == "RUN")
    default = next(rest for name, rest in instructions() if name == "ARG").removeprefix("EXTRAS=")
    services = by_hand()["services"]
    exporter, pipeline = (services[name]["build"]["args"]["EXTRAS"] for name in ("exporter", "spark"))
    assert exporter == "cli,prometheus"
    setup = (ROOT / "setup.cfg").read_text(encoding="utf-8")
    for extra in f"{default},{exporter},{pipeline}".split(","):
        assert re.search(rf"^{extra} =$", setup, re.MULTILINE)


# --- the services of the user's file ---


def test_pipeline_runs_only_with_its_profile_and_in_the_network_of_the_broker() -> None:
    ours = by_hand()["services"]["spark"]
    assert (ours["profiles"], ours["network_mode"]) == (["spark"], "service:kafka")


def test_exporter_reads_the_advertised_address_and_listens_on_loopback() -> None:
    ours = by_hand()["services"]["exporter"]
    assert (ours["profiles"], ours["network_mode"]) == (["exporter"], "host")
    advertised = service()["environment"]["KAFKA_ADVERTISED_LISTENERS"].removeprefix("PLAINTEXT://")
    assert ours["environment"] == {"KAFKA_ASSIGNORS_BOOTSTRAP_SERVERS": advertised}
    name, *words = ours["command"]
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    assert str(command.make_context(name, words).params["listen"]) == "127.0.0.1:8000"
