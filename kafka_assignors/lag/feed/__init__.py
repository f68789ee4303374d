"""Forecasts of load from the feed topic.

- ``load_feed``: `LoadFeed`, the public face.  ``sources``: the sources of load a leader may use.
- ``arrivals``: arrivals that several forecasts expect over one period.
- ``reader``: follows the topic on a thread.  ``consumer``: its connection.
"""
