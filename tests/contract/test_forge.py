"""The files that a public forge and pre-commit read, without either."""

from __future__ import annotations

import configparser
import itertools
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.contract.schema_check import schema_check

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
SCHEMA = ("--builtin-schema", "vendor.github-workflows")


def read(workflow: str) -> dict[Any, Any]:
    text = (ROOT / ".github" / "workflows" / f"{workflow}.yml").read_text(encoding="utf-8")
    return dict(yaml.safe_load(text))


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.stem)
def test_workflow_follows_the_schema(file: Path) -> None:
    assert schema_check(file, *SCHEMA) == ""


def test_schema_check_finds_a_mistake(tmp_path: Path) -> None:
    text = WORKFLOWS[0].read_text(encoding="utf-8")
    assert "runs-on:" in text
    (tmp_path / "wrong.yml").write_text(text.replace("runs-on:", "run-on:"), encoding="utf-8")
    assert "Schema validation errors" in schema_check(tmp_path / "wrong.yml", *SCHEMA)


def test_every_supported_python_is_in_each_matrix() -> None:
    """The classifiers, the workflows, tox and the bootstrap name the same versions."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    versions = re.findall(r"Python :: (3\.\d+)", setup["metadata"]["classifiers"])
    assert read("test")["jobs"]["unit"]["strategy"]["matrix"]["python"] == versions
    (pythons,) = (
        step["with"]["python-version"]
        for step in read("release")["jobs"]["test"]["steps"]
        if "setup-python" in step.get("uses", "")
    )
    assert sorted(pythons.split()) == sorted(versions)
    tox = configparser.ConfigParser(interpolation=None)
    tox.read(ROOT / "tox.ini", encoding="utf-8")
    names = "".join(f",-py{version.replace('.', '')}" for version in versions)
    assert f"testenv:unit{{{names}}}{{,-all}}" in tox
    numbers = ",".join(version.removeprefix("3.") for version in versions)
    assert f"unit-py3{{{numbers}}}-all" in tox["tox"]["labels"]
    limits = f"OLDEST, NEWEST = {numbers.split(',')[0]}, {numbers.split(',')[-1]}"
    assert limits in (ROOT / "tools" / "bootstrap.py").read_text(encoding="utf-8")


def test_every_environment_of_make_test_runs_on_the_forge() -> None:
    tox = configparser.ConfigParser(interpolation=None)
    tox.read(ROOT / "tox.ini", encoding="utf-8")
    commands = [step.get("run", "") for job in read("test")["jobs"].values() for step in job["steps"]]
    runs = set(re.findall(r"[a-z]+", " ".join(c.partition("-e ")[2] for c in commands)))
    assert {name.strip() for name in tox["tox"]["env_list"].split(",")} <= runs


def environments() -> set[str]:
    """Return the names of tox's environments: ``testenv:unit{,-py310}`` is two."""
    tox = configparser.ConfigParser(interpolation=None)
    tox.read(ROOT / "tox.ini", encoding="utf-8")
    sections = (name.partition("testenv:")[2] for name in tox if name.startswith("testenv:"))
    parts = (re.split(r"\{([^}]*)\}", name) for name in sections)
    choices = (
        (part.split(",") if place % 2 else [part] for place, part in enumerate(each)) for each in parts
    )
    return {"".join(chosen) for each in choices for chosen in itertools.product(*each)}


def commands(workflow: str) -> Iterator[str]:
    """Yield the unnamed commands, once for each value of the matrix."""
    for job in read(workflow)["jobs"].values():
        (values,) = job.get("strategy", {}).get("matrix", {"none": [""]}).values()
        for step in job.get("steps", ()):
            if "run" in step and "name" not in step:
                yield from dict.fromkeys(re.sub(r"\$\{\{ matrix\.\w+ \}\}", v, step["run"]) for v in values)


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.stem)
def test_commands_start_what_this_repository_has(file: Path, tmp_path: Path) -> None:
    """The shell runs each command with programs that print how they are called."""
    for program in ("make", "python", "tox", "twine"):
        (tmp_path / program).write_text(f'#!/bin/sh\necho {program} "$@"\n', encoding="utf-8")
        (tmp_path / program).chmod(0o755)
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    for command in commands(file.stem):
        done = subprocess.run(
            ["bash", "-e", "-c", command], env=env, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, ""), command
        match done.stdout.split():
            case ["tox", "run", "-e", names]:
                assert set(names.split(",")) <= environments(), command
            case ["python", "-m", "pip", "install", *packages]:
                assert {re.split(r"\W", package)[0] for package in packages} <= {"build", "tox", "twine"}
            case ["python", "-m", "build"] | ["twine", "check", "--strict", _]:
                assert file.stem == "release"
            case ["make", target]:
                assert f"{target}:" in (ROOT / "Makefile").read_text(encoding="utf-8")
            case _:
                pytest.fail(f"unknown: {command}")


def test_release_is_published_without_a_stored_secret() -> None:
    """Only the job that publishes may ask for a token, and it runs nothing but the forge's actions."""
    jobs = read("release")["jobs"]
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert "permissions" not in jobs["build"]
    assert all("uses" in step for step in jobs["publish"]["steps"])
    for file in WORKFLOWS:
        assert "secrets." not in file.read_text(encoding="utf-8")


@pytest.mark.parametrize(("tag", "code"), [("v0.1.0", 0), ("0.1.0", 0), ("v0.1", 1), ("v0.1.1", 1)])
def test_release_has_the_version_of_its_tag(tmp_path: Path, tag: str, code: int) -> None:
    """``python -m build`` names its files after the package's version."""
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist" / "kafka_assignors-0.1.0.tar.gz").touch()
    (script,) = (step["run"] for step in read("release")["jobs"]["build"]["steps"] if "name" in step)
    command = ["bash", "-e", "-c", script]
    done = subprocess.run(command, cwd=tmp_path, env={**os.environ, "GITHUB_REF_NAME": tag}, check=False)
    assert done.returncode == code


def test_release_waits_for_all_tests() -> None:
    jobs = read("release")["jobs"]
    assert jobs["publish"]["needs"] == ["test", "build"]
    assert jobs["test"]["steps"][-1] == {"run": "make test-all"}


def test_hooks_run_the_commands_of_the_lint_and_types_environments() -> None:
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    (local,) = config["repos"]
    assert local["repo"] == "local"  # nothing is downloaded
    entries = [hook["entry"].split(" --")[0] for hook in local["hooks"]]
    assert entries == ["ruff check", "ruff format", "tox run -e types"]
    for hook in local["hooks"]:
        assert {"id", "name", "entry", "language"} <= hook.keys()
