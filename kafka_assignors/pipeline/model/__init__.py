"""Learns each partition's load.

- ``model``: the load model over a DataFrame.  ``steps``: samples to steps.  ``processor``: the state of a
  stream.
- ``job``: runs the model as a stream or once.  ``sink``: writes the load table.  ``backcast``: errors of the
  forecasts.
"""
