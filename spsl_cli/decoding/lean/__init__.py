"""The same model in fewer and faster operations: decoder layers merged, weights laid out for a few rows."""
