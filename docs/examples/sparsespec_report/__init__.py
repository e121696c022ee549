"""The parts of `sparsespec-report.pdf`: numbers, look, figures and text; `build_report.py` binds them."""
