"""Records the offsets of groups.

- ``samples``: samples groups every few seconds.  ``sampler``, ``sampling``: Spark's data source and its
  settings.  ``sample_report``: counts of samples and problems.
- ``offsets``: reads the offsets topic.  ``offsets_decoder``, ``byte_column``: its records, decoded in Arrow.
  ``offsets_report``: their counts.
- ``own_groups``: excludes Spark's own consumer groups.  ``recording``: a running stream and its report.
"""
