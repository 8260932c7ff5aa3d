"""The files of a first project, made from templates and never in the place of others."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from mdba_checks.config import CheckConfig
from mdba_checks.errors import InputError
from mdba_checks.outputs import write_whole

# Where each file goes, the template it comes from, and what it is.
PROJECT_FILES: dict[str, tuple[str, str]] = {
    "mdba.yaml": ("mdba.yaml", "the settings of the check"),
    "flows/label_bias_gate.py": ("label_bias_gate.py.txt", "the gate as a Prefect flow"),
    "prefect.yaml": ("prefect.yaml", "its deployment"),
    "expectations/label_bias.json": ("label_bias.json", "a Great Expectations suite"),
    ".github/workflows/mdba.yml": ("workflow.yaml", "a check of every pull request"),
}


@dataclass(frozen=True)
class Project:
    """What the files are about.

    Attributes
    ----------
    labels, gold
        The two tables, as paths that hold in the project's folder.
    config
        The settings; the rest of it is as everywhere.
    """

    labels: str
    gold: str
    config: CheckConfig

    def __post_init__(self) -> None:
        for path in (self.labels, self.gold):
            if not path.isprintable() or "${{" in path:
                raise InputError(f"the path {path!r} cannot be written into a workflow: rename it")


def write_project(project: Project, folder: str | Path) -> dict[str, bool]:
    """Write the files that are not there yet; tell for each whether it was written.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> write_project(Project("labels.csv", "gold.csv", CheckConfig()), folder)["mdba.yaml"]
    True
    >>> write_project(Project("labels.csv", "gold.csv", CheckConfig()), folder)["mdba.yaml"]
    False
    """
    written = {}
    for name, (template, _) in PROJECT_FILES.items():
        target = Path(folder) / name
        written[name] = not (target.exists() or target.is_symlink())
        if written[name]:
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise InputError(f"cannot make {target.parent}: {error.strerror}") from None
            write_whole(target, _filled(template, project))
    return written


def _filled(template: str, project: Project) -> str:
    text = (resources.files("mdba_checks.cli.setup") / "templates" / template).read_text("utf-8")
    if template.endswith(".json"):
        return _suite(json.loads(text), project.config)
    config, columns = project.config, project.config.columns
    optional = {"item": columns.item, "reference": config.reference, "positive": config.positive}
    values: dict[str, object] = {
        "labels": project.labels,
        "gold": project.gold,
        "labeler_column": columns.labeler,
        "label_column": columns.label,
        "group_column": columns.group,
        "gold_column": columns.gold,
        "item_column": columns.item,
        "reference": config.reference,
        "positive": config.positive,
        "max_gap": config.policy.max_gap,
    }
    for name, value in optional.items():
        # A setting that is not used is there as a comment, for whoever needs it later.
        text = text.replace(f"[[{name}?]]", "# " if value is None else "")
    spelled = {name: _scalar(value) for name, value in values.items()}
    return re.sub(r"\[\[(\w+)\]\]", lambda match: spelled[match[1]], text)


def _suite(suite: dict[str, Any], config: CheckConfig) -> str:
    columns, policy = config.columns, config.policy
    kwargs: Mapping[str, object] = {
        "labeler_column": columns.labeler,
        "label_column": columns.label,
        "group_column": columns.group,
        "gold_column": columns.gold,
        "item_column": columns.item,
        "reference_group": config.reference,
        "positive_label": config.positive,
        "max_gap": policy.max_gap,
    }
    for each in suite["expectations"]:
        each["kwargs"].update(kwargs)
    return json.dumps(suite, indent=2, ensure_ascii=False) + "\n"


def _scalar(value: object) -> str:
    """Spell a value in YAML, on one line, so that it is read back as what it was."""
    if value is None:
        return "…"
    if isinstance(value, str) and not re.fullmatch(r"[A-Za-z_][\w./-]*", value, re.ASCII):
        style = '"'
    else:
        style = None
    text = str(yaml.safe_dump(value, default_style=style, allow_unicode=True, width=10**9))
    return text.removesuffix("\n").removesuffix("\n...")
