"""The decoder inside Hugging Face's own `generate`."""
