"""What the project uses to work on itself; no part of the package."""
