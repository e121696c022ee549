"""Markup -> readable text: `rendering` for HTML, `xml` for XML. Nothing here knows of files or archives."""
