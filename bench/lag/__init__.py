"""Plans by lag and forecast, and the fetching of lag."""
