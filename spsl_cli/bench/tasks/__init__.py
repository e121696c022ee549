"""Tasks of the benchmark: one file each."""
