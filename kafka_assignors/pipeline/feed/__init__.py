"""Writes forecasts to the feed topic.

- ``feed``: the records.  ``topic``: makes and checks the topic.  ``feeding``: after each batch of the model.
"""
