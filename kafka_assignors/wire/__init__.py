"""Codecs between bytes and values, one file a format.  Sizes are bounded; bad input is a ``CodecError``.

Readers raise this error for bytes that are cut off, too large, or not as the writer writes them.  The writers
of ``stateful`` raise it for values out of range.
"""
