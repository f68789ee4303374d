"""``kafka-assignors exporter``: the lag of all groups as a page for Prometheus.

- ``command``: options, a reading every interval.  ``server``: the page over HTTP.
- ``fetch``: one reading of the cluster.
- ``reading``: the values of a reading, pure.  ``page``: a reading as Prometheus metrics.
"""
