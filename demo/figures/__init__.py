"""Pure: members' logs in, figures out."""
