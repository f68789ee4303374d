"""Recorded samples and the load table, as folders of Parquet files.

- ``schemas``: their columns.  ``storage``: folders and files, local or on Hadoop's file systems.
- ``landing``: writes samples.  ``reading``: reads them.  ``importing``: imports those of other programs.
- ``checkpoints``: whether a stream's checkpoint belongs to its landed files.  ``batch_files``: the files of a
  batch.
"""
