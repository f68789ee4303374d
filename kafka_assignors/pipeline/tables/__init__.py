"""Recorded samples and the load table, as folders of Parquet files.

- ``schemas``: their columns.  ``storage``: folders and files, local or on Hadoop's file systems.
- ``landing``: writes and reads samples.  ``importing``: imports samples of other programs.
- ``checkpoints``: checks that a checkpoint belongs to what a stream has landed.
- ``batch_files``, ``damage``: the files of a batch, and damaged files.
"""
