"""``kafka-assignors size``: how many members a group needs."""
