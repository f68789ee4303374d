"""Fetches offsets and lag from the brokers.

- ``fetcher``: `LagFetcher`, the public face.  ``group_offsets``: offsets of whole groups.
- ``group``: the members of a group.  ``gathering``: the requests of one fetch, in parallel.
- ``link``: connections and timeouts.  ``requests``: requests and answers.  ``errors``: our errors.
"""
