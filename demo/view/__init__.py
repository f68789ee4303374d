"""Pages and tables: live, and at the end."""
