"""Fetches offsets and lag from the brokers.

- ``fetcher``: `LagFetcher`, the public face.  ``group_offsets``: offsets of whole groups.
- ``group``: the members of a group, also of the new protocol (KIP-848).
- ``gathering``: the requests of one fetch, in parallel.
- ``many_groups``: members, commits and offsets of many groups, with few requests.
- ``oldest_unread``: timestamps of the oldest unread records.  ``records``: finds these in bytes.
- ``retention``: when brokers delete records.  ``link``: connections and timeouts.
- ``sending``: deadlines and leaders.  ``requests``: requests and responses.  ``errors``: our errors.
"""
