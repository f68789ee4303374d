"""Fetches offsets and lag from the brokers.

- ``fetcher``: `LagFetcher`, the public face.  ``looks``: a whole group, again and again.
- ``group``: the members of a group.  ``gathering``: the requests of one fetch, in parallel.
- ``link``: connections and time-outs.  ``requests``: requests and answers.  ``errors``: theirs as ours.
"""
