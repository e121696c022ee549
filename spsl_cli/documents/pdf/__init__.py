"""The kind for PDF, through pypdf: opening and mending, the page tree, page labels, and making its text readable."""
