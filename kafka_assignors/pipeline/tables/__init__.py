"""Recorded samples and the load table, as folders of Parquet files.

- ``schemas``: their columns.  ``storage``: folders and files, local or on Hadoop's file systems.
- ``landing``: writes samples, each once.  ``importing``: takes over samples of other programs.
- ``batch_files``, ``damage``: the files of a batch, and those that cannot be read.
"""
