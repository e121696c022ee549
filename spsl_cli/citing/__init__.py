"""Quotes in an answer, found in the documents or not. Knows texts and places, no model and no terminal."""
