"""Forecasts of load from the feed topic.

- ``load_feed``: `LoadFeed`, the public face.  ``sources``: where the leader may take load from.
- ``reader``: follows the topic on a thread.  ``consumer``: its connection.
"""
