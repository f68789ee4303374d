"""The lines that a local session logs."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession


def test_exception_is_the_first_line_of_its_trace(spark: SparkSession) -> None:
    log4j = spark._jvm.org.apache.logging.log4j
    layout = log4j.LogManager.getContext(False).getConfiguration().getAppender("console").getLayout()

    def line(thrown: Any) -> str:
        event = log4j.core.impl.Log4jLogEvent.newBuilder().setLoggerName("org.apache.spark.Job")
        event.setLevel(log4j.Level.ERROR).setMessage(log4j.message.SimpleMessage("failed")).setThrown(thrown)
        _, _, logged = str(layout.toSerializable(event.build())).partition(" ")  # after the time
        return logged

    error = spark._jvm.java.lang.IllegalStateException("no space")
    assert line(error) == "ERROR Job: failed java.lang.IllegalStateException: no space\n"
    assert line(None) == "ERROR Job: failed\n"
