"""Plans of stateful groups, beside Kafka Streams."""
