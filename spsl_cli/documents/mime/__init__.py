"""Messages as MIME has them: their parts and their letters. Knows nothing of what is shown of them."""
