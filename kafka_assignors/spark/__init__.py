"""The pipeline on Spark: record what a group does, learn its load, feed the assignor, back-test strategies.

``import kafka_assignors.spark`` needs no Spark; what uses it does, and names the extra where it is missing.
ARCHITECTURE.md has its files one by one.
"""
