"""The benchmarks, each with its runs, tables and plots."""
