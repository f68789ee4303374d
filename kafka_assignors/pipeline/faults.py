"""What Spark and its Java side raise, as one line that a person can act on.

Spark reports a cause at the end of pages of stack traces, through four kinds of exceptions.  This reads all
the text there is, and takes the first rule that fits; the exception itself stays the ``__cause__``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kafka_assignors.errors import KafkaAssignorsError, PipelineError
from kafka_assignors.plan import shown

__all__ = ["one_line", "pipeline_error"]

_CONNECTOR = "org.apache.spark:spark-sql-kafka-0-10_2.13"

# The order counts: what ends a stream because of something else is said after that.
_RULES = [
    (
        r"kafka_assignors\.errors\.\w+: (?P<text>[^\n]+)",
        "{text}",
    ),
    (
        r"Failed to find (?:the )?data source: kafka\b|\[DATA_SOURCE_NOT_FOUND\][^\n]*\bkafka\b",
        "this Spark has no Kafka connector: spark-submit it with --packages "
        f"{_CONNECTOR}:VERSION, VERSION being Spark's own",
    ),
    (
        r"(?:NoClassDefFoundError|ClassNotFoundException): (?P<name>[\w./$]*"
        r"(?:kafka|kafka010|commons[./]pool2)[\w./$]*)",
        "a jar of Spark's Kafka connector is missing (no class {name}): spark-submit with --packages "
        f"{_CONNECTOR}:VERSION brings them all",
    ),
    (
        r"No module named '?(?P<name>kafka_assignors|kafka|numpy|pandas|pyarrow)\b",
        "the executors' Python has no {name}: install kafka-assignors[spark] there (docs/guides/cluster.md)",
    ),
    (
        r"No space left on device|Disk quota exceeded",
        "the disk is full: make room and start again; what was finished is kept",
    ),
    (
        r"Not authorized to access topics?: \[?(?P<name>[^\]\n]*)",
        "the cluster does not let us use topic {name}: its rules have to allow READ to read it, and WRITE to "
        "write to it",
    ),
    (
        r"Not authorized to access group: (?P<name>\S*)",
        "the cluster does not let us use group {name}: its rules have to allow READ on groups spark-kafka-*",
    ),
    (
        # A new producer asks for its id first, for which a broker wants WRITE on some topic.
        r"ClusterAuthorizationException",
        "the cluster does not let us write: its rules have to allow WRITE on the topic that is written to",
    ),
    (
        r"SaslAuthenticationException: (?P<text>[^\n]*)",
        "the cluster does not let us in: {text}",
    ),
    (
        r"(?:SslAuthenticationException|SSLHandshakeException)(?:: (?P<text>[^\n]*))?",
        "the cluster does not let us in: TLS: {text}",
    ),
    (
        r"UnknownTopicOrPartitionException|This server does not host this topic-partition"
        r"|Topic\(?s?\)? .{0,80}not (?:present|exist)",
        "the topic is not there (any more), or not all of its partitions: create it, or name another",
    ),
    (
        r"No resolvable bootstrap urls",
        "none of the addresses of the brokers can be looked up: check their names",
    ),
    (
        r"OffsetOutOfRange|Some data may have been lost|Cannot fetch[^\n]*offset"
        r"|KAFKA_DATA_LOSS|[Pp]artition[^\n]*offset was changed from",
        "records that were to be read next are gone from the topic (retention, or it was made again): record "
        "into a new folder, or move this one's checkpoints/WRITER and samples/WRITER away",
    ),
    (
        r"(?:ConnectException|ConnectTimeoutException|UnknownHostException|NoRouteToHostException)"
        r"(?:: (?P<text>[^\n]*))?",
        "what the folder lies on, or something else this Spark needs, does not answer: {text}",
    ),
    (
        r"TimeoutException: [^\n]*(?:node assignment|topic metadata|position for partition|listOffsets)"
        r"|Bootstrap broker[^\n]*disconnected|Failed to construct kafka consumer",
        "no Kafka broker answers: check the address, and whether it runs",
    ),
    (
        r"CONCURRENT_(?:STREAM_LOG|QUERY)|concurrently using|Concurrent update to the (?:commit )?log",
        "another run writes to this folder: wait for its end, or take another folder",
    ),
    (
        r"There are \[\d+\] sources in the checkpoint|checkpoint[^\n]*(?:malformed|incompatible|mismatch)"
        r"|(?:offsets|commits)/\d+[^\n]*(?:malformed|Incomplete log|version)|Incomplete log file"
        r"|Log file was malformed|UNSUPPORTED_LOG_VERSION|STREAMING_CHECKPOINT|metadata.*is malformed",
        "the checkpoint is of something else, or damaged: take another folder, or move this one's "
        "checkpoints/WRITER and samples/WRITER away",
    ),
    (
        r"USER_RAISED_EXCEPTION\] (?P<text>[^\n]*)",
        "{text}",
    ),
    (
        r"(?:PATH_NOT_FOUND\] Path does not exist: |FILE_NOT_EXIST\][^\n]*?)"
        r"(?P<name>(?:\w+:)?/[^\n]*?\.parquet)",
        "{name} is gone, and the list of what was written has it: bring it back",
    ),
    (
        r"(?:FAILED_READ_FILE|is not a Parquet file|Could not read footer)[^\n]*?"
        r"(?P<name>(?:\w+:)?/[^\s:]+\.parquet)"
        r"|(?P<other>(?:\w+:)?/[^\s:]+\.parquet) is not a Parquet file",
        "{name}{other} is no whole Parquet file: remove it, or bring a whole one back",
    ),
    (
        r"maxResultSize",
        "the results are more than this Spark hands to its driver: raise spark.driver.maxResultSize, or ask "
        "for less at once",
    ),
    (
        r"OutOfMemoryError",
        "Spark ran out of memory: give it more (--memory; under spark-submit its driver or executors)",
    ),
    (
        r"Python worker (?:exited unexpectedly|failed to connect)|ExecutorLostFailure",
        "a worker process of Spark died: start again; what was finished is kept.  If it dies again, give it "
        "more memory",
    ),
    (
        r"JAVA_GATEWAY_EXITED|Java gateway process exited",
        "Java ended before Spark had begun, as one does that cannot have the memory it asks for (--memory): "
        "see what it said above",
    ),
    (
        # Without Java's stack trace: a refused connection that has one is of somebody else.
        r"Answer from Java side is empty|error while attempting to (?:connect|bind) to the (?:Python|Java)"
        r"|SparkContext was shut down|stopped SparkContext"
        r"|\A(?:ConnectionRefusedError|ConnectionResetError|Py4JNetworkError)\b",
        "Spark itself has ended: start again; what was finished is kept",
    ),
]


@contextmanager
def one_line(doing: str) -> Iterator[None]:
    """Turn what Spark raises in the block into a ``PipelineError``; our own errors pass as they are.

    Args:
        doing: what was being done, to begin the line with.
    """
    try:
        yield
    except KafkaAssignorsError:
        raise
    except Exception as error:
        raise pipeline_error(error, doing) from error


def pipeline_error(error: BaseException, doing: str) -> PipelineError:
    """The error in one line, of bounded length.

    Args:
        error: from PySpark, from py4j, or any other.
        doing: what was being done.
    """
    text = _all_of(error)
    for pattern, sentence in _RULES:
        if found := re.search(pattern, text):
            said = {name: (value or "").strip() for name, value in found.groupdict().items()}
            return PipelineError(f"{doing}: {sentence.format(**said)}")
    return PipelineError(f"{doing}: {shown(_first_line(error))}")


def _all_of(error: BaseException) -> str:
    """Message and Java's stack trace, with those of all causes."""
    parts: list[str] = []
    seen: set[int] = set()
    at: BaseException | None = error
    while at is not None and id(at) not in seen:
        seen.add(id(at))
        parts += [type(at).__name__, str(at)]
        trace: Any = getattr(at, "_stackTrace", None)  # PySpark's copy of Java's
        parts.append(str(trace or ""))
        inner = getattr(at, "_cause", None)
        at = inner if isinstance(inner, BaseException) else at.__cause__ or at.__context__
    return "\n".join(parts)


def _first_line(error: BaseException) -> str:
    lines = [line.strip(" :\t") for line in str(error).splitlines() if line.strip()]
    if len(lines) > 1 and lines[0].startswith("An error occurred while calling o"):
        del lines[0]  # of py4j; what Java says comes after it
    return f"{type(error).__name__}: {lines[0] if lines else 'no more is known'}"
