"""Word documents (.docx) -> text, read from their own markup, event by event. `story` is the way in."""
