"""How much is left to read: the arithmetic (pure), and asking the cluster for what it needs."""
