"""The plugin's counts, the model of NUMA, traces."""
