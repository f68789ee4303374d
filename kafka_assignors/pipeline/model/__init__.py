"""Learns each partition's load.

- ``model``: the Spark functions around ``kafka_assignors.forecast``.  ``steps``: samples to steps.
- ``job``: as a stream or at once.  ``sink``: its table.  ``backcast``: forecasts beside what came.
"""
