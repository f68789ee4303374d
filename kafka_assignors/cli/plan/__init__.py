"""``kafka-assignors plan``."""
