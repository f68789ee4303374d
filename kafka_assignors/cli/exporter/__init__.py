"""``kafka-assignors exporter``: the lag of all groups as a page for Prometheus.

- ``command``: options, the HTTP server, a reading every interval.  ``fetch``: one reading of the cluster.
- ``connection``: lasts from reading to reading.
- ``reading``: the values of a reading, pure.  ``page``: a reading as Prometheus metrics.
"""
