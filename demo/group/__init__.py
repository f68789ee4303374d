"""Members, their processes, the broker."""
