"""``python -m kafka_assignors`` and the ``kafka-assignors`` script."""

from __future__ import annotations

import sys

from kafka_assignors.errors import MissingExtraError


def main() -> None:
    """Run the command line.  Without the extra ``cli``, exit with a message that names the extra."""
    try:
        from kafka_assignors.cli import run
    except ModuleNotFoundError as error:
        if error.name not in {"click", "rich"}:
            raise
        sys.exit(f"kafka-assignors: {MissingExtraError('cli', error.name)}")
    run()


if __name__ == "__main__":
    main()
