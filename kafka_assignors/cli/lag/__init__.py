"""``kafka-assignors lag``."""
