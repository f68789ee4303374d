"""Real flights as events, and the load they make."""
