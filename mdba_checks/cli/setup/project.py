"""The files of a first project, made from templates and never in the place of others."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from mdba_checks.cli.setup.corrections import changes_between, corrected, in_yaml
from mdba_checks.config import CheckConfig
from mdba_checks.errors import InputError, did_you_mean
from mdba_checks.outputs import write_whole

SETTINGS = "mdba.yaml"
# Where each file goes, and the template it comes from.
PROJECT_FILES = {
    SETTINGS: "mdba.yaml",
    "flows/label_bias_gate.py": "label_bias_gate.py.txt",
    "flows/gated_training.py": "gated_training.py.txt",
    "flows/automations/blocked.yaml": "blocked.yaml",
    "flows/automations/stuck.yaml": "stuck.yaml",
    "prefect.yaml": "prefect.yaml",
    "expectations/label_bias.json": "label_bias.json",
    ".github/workflows/mdba.yml": "workflow.yaml",
}
# What may be asked for beside the settings.
_MORE = {
    "prefect": tuple(
        name for name in PROJECT_FILES if name.startswith("flows/") or name == "prefect.yaml"
    ),
    "gx": ("expectations/label_bias.json",),
    "github": (".github/workflows/mdba.yml",),
}
_ALL = "all"


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


def files_for(more: Iterable[str]) -> list[str]:
    """Return the files to write, by the names of what was asked for.

    Examples
    --------
    >>> files_for(["gx"])
    ['mdba.yaml', 'expectations/label_bias.json']
    """
    wanted = {SETTINGS}
    for name in more:
        if name not in (*_MORE, _ALL):
            raise InputError(f"--with {name} is not known.{did_you_mean(name, (*_MORE, _ALL))}")
        wanted |= set(PROJECT_FILES if name == _ALL else _MORE[name])
    return [name for name in PROJECT_FILES if name in wanted]


def write_project(
    project: Project,
    folder: str | Path,
    names: Iterable[str],
    *,
    before: CheckConfig | None = None,
) -> dict[str, str]:
    """Write files that are not there yet, and correct the settings; return what was done to each.

    Parameters
    ----------
    project
        What they are about.
    folder, names
        Where they go, and which.
    before
        The settings that are there already.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> first = Project("labels.csv", "gold.csv", CheckConfig())
    >>> write_project(first, folder, ["mdba.yaml"])
    {'mdba.yaml': 'wrote'}
    >>> again = Project("labels.csv", "gold.csv", CheckConfig(seed=5))
    >>> write_project(again, folder, ["mdba.yaml"], before=first.config)
    {'mdba.yaml': 'corrected'}
    """
    done = {}
    for name in names:
        target = Path(folder) / name
        if not (target.exists() or target.is_symlink()):
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise InputError(f"cannot make {target.parent}: {error.strerror}") from None
            write_whole(target, _filled(PROJECT_FILES[name], project))
            done[name] = "wrote"
        elif name == SETTINGS and before is not None and before != project.config:
            changes = changes_between(before, project.config)
            text = corrected(target.read_text(encoding="utf-8"), project.config, changes)
            write_whole(target, text, force=True)
            done[name] = "corrected"
        else:
            done[name] = "kept"
    return done


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
    spelled = {name: in_yaml(value) for name, value in values.items()}
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
