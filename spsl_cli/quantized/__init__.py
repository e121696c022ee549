"""Linear layers of 8- or 4-bit weights for the CPU. Knows neither models' files nor the decoder."""
