"""A development broker: a single-node KRaft Kafka, from Docker if an engine answers, else from its jars.

>>> with development_broker() as broker:  # doctest: +SKIP
...     KafkaConsumer("orders", bootstrap_servers=broker.bootstrap)

================  ======================================================  ===========================
file              purpose                                                 key names
================  ======================================================  ===========================
``development``   the public face: choose, start, stop                    ``development_broker``
``supervised``    starts and stops the supervisor process                 ``Supervised``, ``Spec``
``supervisor``    the process that runs the broker and cleans up          ``Supervisor``
``jvm, docker``   commands of the two backends                            ``prepare``
``settings``      the broker's settings, the same for both backends       ``SETTINGS``
``jars/``         the jars: their list, the download, the cache           ``fetch_jars``
``java``          finds a Java that can run them                          ``find_java``
``ports``         finds free ports; checks that Kafka answers             ``answers``
``diagnose``      finds why a broker did not start, in its log            ``error_line``
``state``         the one detached broker of the command line             ``Running``
``paths``         directories and locks of files that outlive a process   ``locked_file``
``progress``      progress reports of long steps                          ``Progress``
================  ======================================================  ===========================
"""

from __future__ import annotations

from kafka_assignors.broker.development import Backend, DevelopmentBroker, development_broker, start_broker
from kafka_assignors.broker.jars import fetch_jars
from kafka_assignors.broker.java import Java, find_java
from kafka_assignors.broker.progress import OnProgress, Progress

__all__ = [
    "Backend",
    "DevelopmentBroker",
    "Java",
    "OnProgress",
    "Progress",
    "development_broker",
    "fetch_jars",
    "find_java",
    "start_broker",
]
