"""Forecasts of load from the feed topic.

- ``load_feed``: `LoadFeed`, the public face.  ``sources``: the sources of load a leader may use.
- ``reader``: follows the topic on a thread.  ``consumer``: its connection.
"""
