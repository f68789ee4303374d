"""The demo: real flights through real groups, one strategy beside another; ``make demo``.

- ``command``, ``settings``: the options.  ``compare``: all scenes and the pipeline.  ``results``: its file.
- ``data``: the flights.  ``group``: the broker, processes and logs.  ``member``: one consumer process.
- ``scenes``: runs on a broker, a replay and a backlog.  ``failover``: a scene of stateful consumers.
- ``figures``: logs to figures, pure.  ``pipeline``: the pipeline on the first two scenes.
- ``view``: progress and tables.  ``report``: the page.
"""
