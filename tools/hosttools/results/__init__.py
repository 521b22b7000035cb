"""Benchmarks' results: samples, statistics, tables, plots."""
