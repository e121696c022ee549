"""Systems under comparison: one way of decoding each."""
