"""Records the offsets of groups.

- ``samples``: samples groups every few seconds.  ``sampler``, ``sampling``: Spark's data source and its
  settings.  ``sample_report``: counts of samples and problems.
- ``offsets``: reads the offsets topic.  ``offsets_decoder``, ``byte_column``, ``offsets_report``:
  its records, decoded in Arrow and counted.
- ``own_groups``: excludes Spark's own consumer groups.  ``watching``: counts the batches of a stream.
"""
