"""Reports as something to read: tables, files, plots, and two of them side by side."""
