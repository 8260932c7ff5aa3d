"""The report as one HTML file, and plots: what people read about a verdict."""

from mdba_checks.report.forest import forest
from mdba_checks.report.html import fragment, render, write_report

__all__ = ["forest", "fragment", "render", "write_report"]
