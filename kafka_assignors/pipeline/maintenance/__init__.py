"""Maintains a recording while streams write it: merges small files, and deletes old days.

A stream of samples writes a file for each batch, and a list of the finished files of the batch in
``_spark_metadata``.  Every tenth list is *compact*: it also has all earlier files, and its name ends with
``.compact``.  Readers and the model's stream see the listed files only.

- A merge, or the removal of old days, is one atomic replacement of the newest compact list.  Readers see the
  small files or the merged one, never both.
- Spark may write the next compact list at that moment, from the old one.  Then the replacement has no effect,
  and a later run repeats it, because every run decides by the lists it finds.
- A file of samples is deleted if no list names it and it is older than a day.  Spark keeps the lists of the
  last hundred batches, so the files of a running reader stay.  A crash only leaves files that no list names.
- A merge must not make the model miss a sample or read it twice.  So only files that the model has read are
  merged; of a writer that no model reads, all files may be merged.  The name of the merged file contains the
  model's token.  This model skips the file, and other models read it.  Deleting old days does not wait for
  the model.

The files of ``load/`` have no list.  Those of a past day are merged into one.  Its name has the newest batch,
so `read_load` knows which small files it replaces.  The next run deletes these files.  A batch that Spark may
repeat is not merged.

- ``job``: runs all of it.  ``samples``: the files of samples.  ``merging``: the files of the load; one file
  from several.
"""
