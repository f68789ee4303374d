"""Bytes <-> values, one file a format.  Bounded; every refusal is a ``CodecError``; no globals."""
