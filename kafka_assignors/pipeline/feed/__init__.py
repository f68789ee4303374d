"""Writes forecasts to the feed topic.

- ``feed``: the records.  ``topic``: creates and checks the topic.  ``feeding``: publishes after each batch of
  the model.
"""
