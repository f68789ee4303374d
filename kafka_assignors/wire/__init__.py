"""Codecs between bytes and values, one file a format.  Sizes are bounded; bad input is a ``CodecError``."""
