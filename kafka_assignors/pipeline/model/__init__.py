"""Learns each partition's load.

- ``model``: the Spark functions around ``kafka_assignors.forecast``.  ``steps``: samples to steps.
  ``processor``: the state of the stream.
- ``job``: runs the model as a stream or once.  ``sink``: its table.  ``backcast``: errors of the forecasts.
"""
