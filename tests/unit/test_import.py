"""``import kafka_assignors`` stays light."""

from __future__ import annotations

import subprocess
import sys

import pytest

EXTRAS = {
    "click",
    "msgspec",
    "rich",
    "jgo",
    "psutil",
    "plotly",
    "jinja2",
    "pandas",
    "pyspark",
    "requests",
    "rocksdict",
    "filelock",
    "prometheus_client",
    "opentelemetry",
}


def test_package_imports_only_kafka_python_and_numpy() -> None:
    """The loaded packages beside the standard library, in another process."""
    program = (
        "import sys; before = set(sys.modules); import kafka_assignors;"
        "print(*{name.partition('.')[0] for name in set(sys.modules) - before} - sys.stdlib_module_names)"
    )
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert {"kafka", "kafka_assignors", "numpy"} <= set(loaded.stdout.split())
    assert not set(loaded.stdout.split()) & EXTRAS


@pytest.mark.parametrize(
    "module", ["demo.compare", "kafka_assignors.cli.backtest.command", "kafka_assignors.cli.size.recording"]
)
def test_what_may_use_a_recording_is_imported_without_the_extra_spark(module: str) -> None:
    program = f"import sys; sys.modules.update(pyspark=None, pyarrow=None, pandas=None); import {module}"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_missing_cli_extra_is_named() -> None:
    """One line names the extra to install; exit code 1."""
    program = "import sys; sys.modules['click'] = None; from kafka_assignors.__main__ import main; main()"
    message = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert message.returncode == 1
    assert message.stderr == "kafka-assignors: click is not installed: pip install 'kafka-assignors[cli]'\n"


@pytest.mark.parametrize(
    ("modules", "program", "message"),
    [
        # Stateful consumers can be imported, the error comes when the extra is needed.
        (
            ["rocksdict", "filelock"],
            "from kafka_assignors.stateful import StatefulConsumer, Stores; {Stores()}",
            "rocksdict is not installed: pip install 'kafka-assignors[stateful]'",
        ),
        (
            ["pyspark"],
            "import kafka_assignors.pipeline as pipeline; {pipeline.import_samples}",
            "pyspark is not installed: pip install 'kafka-assignors[spark]'",
        ),
        (
            ["prometheus_client"],
            "{import kafka_assignors.metrics.prometheus}",
            "prometheus_client is not installed: pip install 'kafka-assignors[prometheus]'",
        ),
        (
            ["opentelemetry"],
            "{import kafka_assignors.metrics.otel}",
            "opentelemetry is not installed: pip install 'kafka-assignors[otel]'",
        ),
    ],
    ids=["stateful", "pipeline", "prometheus", "otel"],
)
def test_missing_extra_is_named(modules: list[str], program: str, message: str) -> None:
    """The statement in braces needs the extra; those before it do not."""
    before, needs = program.rstrip("}").split("{")
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({modules}))\n{before}\n"
        f"try:\n    {needs}\nexcept ImportError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == message + "\n"
