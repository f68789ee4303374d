"""Records what groups do.

- ``samples``: looks at the cluster every few seconds.  ``sampler``, ``sampling``: Spark's data source and its
  settings.  ``sample_report``: what a look found.
- ``offsets``: reads the offsets topic.  ``offsets_topic``, ``offsets_decoder``, ``byte_column``,
  ``offsets_counts``, ``offsets_report``: its records, decoded in Arrow.
- ``own_groups``: Spark's own consumer groups, which are not recorded.  ``cluster_id``: of the cluster.
- ``watching``: counts the batches of a stream.
"""
