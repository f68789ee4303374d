"""Writes forecasts to the feed topic.

- ``feed``: the topic and its records.  ``feeding``: publishes after each batch of the model.
"""
