"""``kafka-assignors exporter``: the lag of all groups as a page for Prometheus.

A *reading* is the state of all groups at one moment.

- ``command``: options.  ``server``: repeated readings, and the page over HTTP.
- ``fetch``: reads the cluster.
- ``reading``: the values of a reading, pure.  ``page``: a reading as Prometheus metrics.
"""
