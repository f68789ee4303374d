"""``kafka-assignors backtest``."""
