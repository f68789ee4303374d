"""``kafka-assignors tasks``."""
