"""The demo: real flights through real groups, one strategy beside another; ``make demo``.

- ``command``, ``settings``: the options.  ``compare``: runs all scenes and the pipeline.
- ``results``: the shape of results.json.
- ``data``: the flights.  ``group``: the broker, processes and logs.  ``member``: one consumer process.
- ``scenes``: the replay and the backlog on a broker.  ``failover``: a scene of stateful consumers.
- ``figures``: logs to figures, pure.  ``pipeline``: the pipeline on the runs of replay and backlog.
- ``view``: progress and tables.  ``report``: the page.
"""
