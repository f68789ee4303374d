"""What Spark, Java and Kafka raise, as one line that a person can act on."""

from __future__ import annotations

import re

from kafka_assignors.errors import PipelineError

__all__ = ["explained", "reason"]

_LONGEST = 300

# The first that is found in the text, causes and all, decides.  What it caught goes into the line.
_KNOWN: tuple[tuple[str, str], ...] = (
    (
        r"(?:Failed to find (?:the )?data source: |DATA_SOURCE_NOT_FOUND\W+)kafka\b",
        "this Spark has no Kafka connector: submit with --packages or --jars, see docs/clusters.md",
    ),
    (
        r"No module named '?(kafka_assignors|kafka|numpy|pandas|pyarrow)\b",
        "the executors' Python has no {0}: install kafka-assignors[spark] there, see docs/clusters.md",
    ),
    (r"No space left on device|Disk quota exceeded", "the disk is full: make room and start again"),
    (
        r"(?:SaslAuthenticationException|SslAuthenticationException|SSLHandshakeException): ([^\n]*)",
        "the cluster does not let us in: {0}",
    ),
    (r"(?:Topic|Group|Cluster|TransactionalId)AuthorizationException: ([^\n]*)", "{0}"),
    (
        r"UnknownTopicOrPartitionException|UNKNOWN_TOPIC_OR_PARTITION|This server does not host this topic",
        "there is no such topic, or no longer",
    ),
    (
        r"KAFKA_DATA_LOSS|OffsetOutOfRangeException|Some data may have been lost|may have been aged out",
        "records that were not read yet are gone: retention took them, or the topic was made again; to begin "
        "anew with what is there, remove this stream's folder under checkpoints/",
    ),
    (r"No resolvable bootstrap urls", "no address of the cluster can be resolved"),
    (
        r"(?:TimeoutException|DisconnectException|BootstrapResolutionException): ([^\n]*)",
        "the cluster does not answer: {0}",
    ),
    (
        r"There are \[\d+\] sources in the checkpoint|STREAMING_STATEFUL_OPERATOR|STATE_STORE_\w*SCHEMA"
        r"|Set\(.*\) are gone|StreamingQueryCheckpointMetadata|INCOMPATIBLE_\w*CHECKPOINT"
        r"|Cannot find earliest state|UNRECOGNIZED_\w*OFFSET|malformed log file|log file was malformed",
        "the checkpoint is another query's, or broken; it belongs to the data beside it: docs/pipeline.md",
    ),
    (
        r"((?:file|hdfs|s3a?|abfss?|gs)?:?/[^\s'\"]*\.parquet)[^\n]*(?:is not a Parquet file|footer)"
        r"|(?:is not a Parquet file|Could not read footer)[^\n]*?((?:\w+:)?/[^\s'\"]*\.parquet)",
        "{0} is no whole Parquet file: half-written, or damaged; move it away",
    ),
    (r"OutOfMemoryError", "out of memory: give Spark more, or ask for less at a time"),
    (r"Python worker exited unexpectedly|EOFException[^\n]*python", "a Python worker of Spark's died"),
)


def explained(error: BaseException | None) -> PipelineError:
    """Say in one line what went wrong, and what can be done about it where that is known.

    Args:
        error: what was raised, or what ended a stream; None: the stream ended by itself.
    """
    if isinstance(error, PipelineError):
        return error
    if error is None:
        return PipelineError("the stream ended by itself")
    text = str(error)
    for pattern, line in _KNOWN:
        if found := re.search(pattern, text, re.DOTALL if "[^" not in pattern else 0):
            caught = next((group for group in found.groups() if group), "")
            return PipelineError(line.format(caught.strip())[:_LONGEST])
    return PipelineError(reason(error))


def reason(error: BaseException) -> str:
    """The cause that is named last in a text of many lines, without the class names before it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    named = [line for line in lines if re.match(r"(?:Caused by: )?[\w.$]*(?:Error|Exception): ", line)]
    told = named[-1] if named else (lines[0] if lines else type(error).__name__)
    return re.sub(r"^(?:Caused by: )?(?:[\w.$]*(?:Error|Exception): )+", "", told)[:_LONGEST]
