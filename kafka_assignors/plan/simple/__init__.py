"""Strategies that need no search: ``range``, ``roundrobin``, ``failover``."""
