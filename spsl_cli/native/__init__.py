"""Attention and products for the CPU, compiled on the machine where they run; torch's own do without a compiler."""
