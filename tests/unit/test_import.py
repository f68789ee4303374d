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


def test_missing_cli_extra_is_named() -> None:
    """One line names the extra to install; exit code 1."""
    program = "import sys; sys.modules['click'] = None; from kafka_assignors.__main__ import main; main()"
    message = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert message.returncode == 1
    assert message.stderr == "kafka-assignors: click is not installed: pip install 'kafka-assignors[cli]'\n"


def test_stateful_consumers_can_be_imported_without_their_extra() -> None:
    """The error comes when the extra is needed."""
    code = (
        "import sys\n"
        "sys.modules['rocksdict'] = sys.modules['filelock'] = None\n"
        "from kafka_assignors.stateful import StatefulConsumer, Stores\n"
        "try:\n    Stores()\nexcept ImportError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "rocksdict is not installed: pip install 'kafka-assignors[stateful]'\n"


def test_missing_pipeline_extra_is_named() -> None:
    code = (
        "import sys\n"
        "sys.modules['pyspark'] = None\n"
        "import kafka_assignors.pipeline as pipeline\n"
        "try:\n    pipeline.import_samples\nexcept ImportError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "pyspark is not installed: pip install 'kafka-assignors[spark]'\n"


@pytest.mark.parametrize(
    ("extra", "module", "missing"),
    [
        ("prometheus", "prometheus_client", "prometheus-client"),
        ("otel", "opentelemetry", "opentelemetry-api"),
    ],
)
def test_missing_extra_of_an_exporter_is_named(extra: str, module: str, missing: str) -> None:
    code = (
        "import sys\n"
        f"sys.modules['{module}'] = None\n"
        f"try:\n    import kafka_assignors.metrics.{extra}\nexcept ImportError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"{missing} is not installed: pip install 'kafka-assignors[{extra}]'\n"
