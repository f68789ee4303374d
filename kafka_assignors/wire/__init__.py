"""Codecs between bytes and values, one file a format.  Sizes are bounded; bad input is a ``CodecError``.

Readers raise it for bytes that are cut off, too large, or not as the writer writes them; the writers of
``stateful`` for values out of range.
"""
