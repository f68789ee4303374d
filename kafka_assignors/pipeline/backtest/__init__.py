"""Back-tests: comparisons of strategies on a recorded history.

- ``grid``: the combinations to try.
- ``simulated``: strategies as picklable values.
- ``history_shape``: rows of the load table, and the steps of a history.
- ``recorded``: a history from rows, in parts.
- ``service_rate``: the service rate of a member, from a history.
- ``job``: the trials on Spark, one task each.
- ``results``: the shape of results.json.
- ``summary``: outcomes of trials as results.
- ``phrases``: the results as sentences and as rows of a table.
- ``figures``: plots.
- ``files``: the results as Parquet and JSON, and report.html.
- ``page``: the HTML report, made with ``templates``.

All but ``job``, ``files`` and ``page`` are pure.  ``page`` reads its templates.  ``figures`` imports plotly.
"""
