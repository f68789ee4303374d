"""Turns errors of Spark and its JVM into one line with the cause and what to do.

Spark reports a cause at the end of long stack traces, in four kinds of exceptions.  This module searches the
whole text and takes the first rule that matches.  `as_pipeline_error` keeps the original exception as
``__cause__``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from kafka_assignors.errors import KafkaAssignorsError, PipelineError
from kafka_assignors.plan import shown

_SLOW_WORKER = "Python worker failed to connect"
_CONNECTOR = "org.apache.spark:spark-sql-kafka-0-10_2.13"

# Pattern of an error -> its sentence.  If one error can cause another, the rule of the cause comes first.
_RULES = {
    r"kafka_assignors\.errors\.\w+: (?P<text>[^\n]+)": "{text}",
    r"Failed to find (?:the )?data source: kafka\b": (
        "this Spark has no Kafka connector: spark-submit it with --packages "
        f"{_CONNECTOR}:VERSION, VERSION being Spark's own"
    ),
    r"(?:NoClassDefFound|ClassNotFound)\w+: (?P<name>[\w./$]*(?:kafka|commons[./]pool2)[\w./$]*)": (
        "a jar of Spark's Kafka connector is missing (no class {name}): spark-submit with --packages "
        f"{_CONNECTOR}:VERSION brings them all"
    ),
    r"No module named '?(?P<name>kafka_assignors|kafka|numpy|pandas|pyarrow)\b": (
        "the executors' Python has no {name}: install kafka-assignors[spark] there (docs/guides/cluster.md)"
    ),
    r"No space left on device|Disk quota exceeded|File too large": (
        "the disk is full, or a quota or limit is reached: make room; finished batches are kept"
    ),
    r"Not authorized to access topics?: \[?(?P<name>[^\]\n]*)": (
        "not authorized for topic {name}: the ACLs must allow READ to read it, and WRITE to write to it"
    ),
    r"Not authorized to access group: (?P<name>\S*)": (
        "not authorized for group {name}: the ACLs must allow READ on groups spark-kafka-*"
    ),
    # A new producer first requests its id, for which a broker requires WRITE on some topic.
    r"ClusterAuthorizationException": "not authorized to write: the ACLs must allow WRITE on the topic",
    r"SaslAuthenticationException: (?P<text>[^\n]*)": "the cluster denies access: {text}",
    r"(?:SslAuthentication|SSLHandshake)Exception(?:: (?P<text>[^\n]*))?": (
        "the cluster denies access: TLS: {text}"
    ),
    r"UnknownTopicOrPartitionException|This server does not host this topic-partition"
    r"|Topic\(?s?\)? .{0,80}not exist": (
        "the topic or one of its partitions does not exist (any more): create it, or name another topic"
    ),
    r"No resolvable bootstrap urls": "no address of a broker can be resolved: check the host names",
    r"OffsetOutOfRange|Some data may have been lost|Cannot fetch[^\n]*offset"
    r"|KAFKA_DATA_LOSS|[Pp]artition[^\n]*offset was changed from": (
        "the next records are gone from the topic (deleted by retention, or the topic was recreated): record "
        "into a new folder, or move this one's checkpoints/WRITER and samples/WRITER away"
    ),
    r"(?:ConnectException|ConnectTimeoutException|UnknownHostException|NoRouteToHostException)"
    r"(?:: (?P<text>[^\n]*))?": (
        "the storage of the folder, or another service this Spark needs, does not answer: {text}"
    ),
    # If the topic of "not present" is missing, the producer adds the cause, and the rule for it is above.
    r"TimeoutException: [^\n]*(?:node assignment|topic metadata|not present in metadata"
    r"|position for partition|listOffsets)"
    r"|Bootstrap broker[^\n]*disconnected": "no Kafka broker answers: check the address, and whether it runs",
    r"CONCURRENT_(?:STREAM_LOG|QUERY)|query with that name is already active|concurrently using"
    r"|Concurrent update to the (?:commit )?log|Race while writing batch": (
        "another run writes to this folder: wait for its end, or take another folder"
    ),
    r"There are \[\d+\] sources in the checkpoint|checkpoint[^\n]*(?:malformed|incompatible|mismatch)"
    r"|(?:offsets|commits)/\d+[^\n]*(?:malformed|Incomplete log|version)|Incomplete log file"
    r"|Log file was malformed|UNSUPPORTED_LOG_VERSION|STREAMING_CHECKPOINT|metadata.*is malformed": (
        "the checkpoint is damaged, or belongs to another stream: of the load model, remove load/ and "
        "checkpoints/load (samples are kept); of a recorder, take another folder, or move its "
        "checkpoints/WRITER and samples/WRITER away"
    ),
    r"STORE_BACKEND_NOT_SUPPORTED": (
        "this Spark keeps no state in RocksDB: set spark.sql.streaming.stateStore.providerClass as "
        "kafka_assignors.pipeline.session does; then remove load/ and checkpoints/load (samples are kept)"
    ),
    r"USER_RAISED_EXCEPTION\] (?P<text>[^\n]*)": "{text}",
    r"(?:PATH_NOT_FOUND\] Path does not exist: |FILE_NOT_EXIST\][^\n]*?)"
    r"(?P<name>(?:\w+:)?/[^\n]*?\.parquet)": (
        "{name} is gone: if it was merged or deleted meanwhile, try again, else restore it"
    ),
    r"(?:FAILED_READ_FILE|is not a Parquet file|Could not read footer)[^\n]*?"
    r"(?P<name>(?:\w+:)?/[^\s:]+\.parquet)|(?P<other>(?:\w+:)?/[^\s:]+\.parquet) is not a Parquet file": (
        "{name}{other} is not a complete Parquet file: remove or restore it"
    ),
    r"maxResultSize": (
        "the results exceed the limit of Spark's driver: raise spark.driver.maxResultSize, or request less"
    ),
    r"OutOfMemoryError": "Spark ran out of memory: give it more (--memory; spark-submit: driver, executors)",
    # A constructor does not connect, so its error is about the settings.
    r"(?s)Failed to (?:construct [Kk]afka \w+|create new KafkaAdminClient).*Caused by: (?P<text>[^\n]+)": (
        "Kafka's Java client cannot use the connection settings: {text}; the files that they name must be on "
        "every machine"
    ),
    _SLOW_WORKER: (
        "a Python worker of Spark did not start within 10 s, mostly because the machine is busy: give it "
        "less to do; finished batches are kept"
    ),
    r"Python worker exited unexpectedly|ExecutorLostFailure": (
        "a worker process of Spark died: start again; finished batches are kept.  If it dies again, give it "
        "more memory"
    ),
    r"JAVA_GATEWAY_EXITED|Java gateway process exited": (
        "Java ended before Spark started, for example without enough memory (--memory): see its output above"
    ),
    # \A: only an error of this Python process begins with the name.  Elsewhere in a text, the name is about
    # another service.
    r"Answer from Java side is empty|error while attempting to (?:connect|bind) to the (?:Python|Java)"
    r"|SparkContext was shut down|stopped SparkContext"
    r"|\A(?:ConnectionRefusedError|ConnectionResetError|Py4JNetworkError)\b": (
        "Spark itself has ended: start again; finished batches are kept"
    ),
}


@contextmanager
def as_pipeline_error(doing: str) -> Iterator[None]:
    """Turn errors of Spark in the block into a `PipelineError`; errors of this package pass unchanged.

    Args:
        doing: the activity: the start of the line, and the description of the block's jobs in Spark's UI.
    """
    context: Any = None
    before = None
    with suppress(Exception):  # there may be no session
        context = sys.modules["pyspark.sql"].SparkSession.active().sparkContext
        before = context.getLocalProperty("spark.job.description")
        context.setJobDescription(doing)
    try:
        yield
    except KafkaAssignorsError:
        raise
    except Exception as error:
        raise pipeline_error(error, doing) from error
    finally:
        with suppress(Exception):
            context.setJobDescription(before)


def pipeline_error(error: BaseException, doing: str) -> KafkaAssignorsError:
    """Return an error as one line: the sentence of the first rule that matches, or the error's first line.

    An error of this package is returned unchanged.
    """
    if isinstance(error, KafkaAssignorsError):
        return error
    text = _full_text(error)
    for pattern, sentence in _RULES.items():
        if match := re.search(pattern, text):
            fields = {name: shown((value or "").strip()) for name, value in match.groupdict().items()}
            line = f"{doing}: {sentence.format(**fields)}"
            return PipelineError(line.rstrip(": "))  # Java's message may be missing
    return PipelineError(f"{doing}: {shown(_first_line(error))}")


def is_slow_worker(error: BaseException | None) -> bool:
    """Return whether a query ended because a Python worker of Spark did not start within 10 s."""
    return error is not None and _SLOW_WORKER in _full_text(error)


def _full_text(error: BaseException) -> str:
    """Return the messages and Java stack traces of an error and all its causes."""
    parts: list[str] = []
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        java_trace = getattr(current, "_stackTrace", None)  # PySpark's copy
        parts += [type(current).__name__, str(current), str(java_trace or "")]
        inner = getattr(current, "_cause", None)
        current = inner if isinstance(inner, BaseException) else current.__cause__ or current.__context__
    return "\n".join(parts)


def _first_line(error: BaseException) -> str:
    lines = [line.strip(" :\t") for line in str(error).splitlines() if line.strip()]
    if len(lines) > 1 and re.match(r"An error occurred while calling \S+( Trace)?$", lines[0]):
        del lines[0]  # py4j's own line; Java's message follows
    return f"{type(error).__name__}: {lines[0] if lines else 'no message'}"
