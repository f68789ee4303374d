"""The load model in a process of its own, for a test to kill."""

from __future__ import annotations

import sys

from kafka_assignors.forecast import LoadSettings
from kafka_assignors.spark.load_job import run_load_model
from kafka_assignors.spark.session import local_session

SETTINGS = LoadSettings(step_s=60, horizon_s=300, delay_s=120, max_gap_s=600)


def main(root: str) -> None:
    with local_session("load model, to be killed", cores=2, memory="512m") as spark:
        run_load_model(spark, root, SETTINGS, available_now=False, every_s=0)


if __name__ == "__main__":
    main(sys.argv[1])
