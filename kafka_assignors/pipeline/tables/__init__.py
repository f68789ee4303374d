"""Recorded samples and the load table, as folders of Parquet files.

- ``schemas``: their columns.  ``storage``: folders and files, local or on Hadoop's file systems.
- ``landing``: writes and reads samples.  ``importing``: imports samples of other programs.
- ``batch_files``, ``damage``: the files of a batch, and damaged files.
"""
