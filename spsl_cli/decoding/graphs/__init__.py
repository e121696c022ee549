"""Forwards with static buffers and device-side positions, recorded once as CUDA graphs and replayed."""
