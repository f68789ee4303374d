"""Forecasts of load from the feed topic.

- ``load_feed``: `LoadFeed`, the public face.  ``sources``: sources of forecasts for a leader.
- ``reader``: follows the topic on a thread.  ``consumer``: its connection.
"""
