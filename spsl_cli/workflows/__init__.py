"""What a session is used for: one answer, an answer in parts, summaries of several documents, a conversation."""
