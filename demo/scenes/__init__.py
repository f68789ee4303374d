"""Scenes: a replay with churn, a backlog."""
