"""A first project: which columns a labels file seems to have, and the files that check it.

`mdba init` is the command for it. What it writes is meant to be read, changed and kept in the
user's repository; a second run corrects it.
"""

from mdba_checks.cli.setup.project import PROJECT_FILES, Project, files_for, write_project
from mdba_checks.cli.setup.questions import Questions, Tables
from mdba_checks.cli.setup.suggest import Column, Suggestion, look_at, suggest, suggest_positive

__all__ = [
    "PROJECT_FILES",
    "Column",
    "Project",
    "Questions",
    "Suggestion",
    "Tables",
    "files_for",
    "look_at",
    "suggest",
    "suggest_positive",
    "write_project",
]
