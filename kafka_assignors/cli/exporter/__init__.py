"""``kafka-assignors exporter``: the lag of groups as a page for Prometheus.

A *reading* is the state of the selected groups at one moment.

- ``command``: options.  ``server``: repeated readings, and the page over HTTP.
- ``fetch``: reads the cluster.
- ``reading``: the values of a reading, pure.  ``page``: a reading as Prometheus metrics.
"""
