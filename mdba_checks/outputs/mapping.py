"""Who is behind each pseudonym, in a file for its owner only."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mdba_checks.errors import InputError
from mdba_checks.outputs.files import whole_file
from mdba_checks.outputs.json_text import to_json


def write_mapping(
    pseudonyms: Mapping[str, str] | None, path: str | Path, *, force: bool = False
) -> None:
    """Write who is behind each pseudonym, as JSON, for the eyes of the file's owner only.

    Parameters
    ----------
    pseudonyms
        The pseudonym of every name, as in `Assessment.pseudonyms`.
    path
        Where to; keep it apart from everything else that a check writes.
    force
        Whether an existing file may be replaced.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "who.json"
    >>> write_mapping({"Ann": "8f3e38f05645"}, file)
    >>> print(file.read_text(), end="")
    {
      "8f3e38f05645": "Ann"
    }
    """
    if pseudonyms is None:
        raise InputError(f"cannot write {path}: no pseudonyms were used; set pseudonymize: true")
    by_pseudonym = {alias: name for name, alias in pseudonyms.items()}
    with whole_file(path, force=force) as temporary:
        temporary.chmod(0o600)
        temporary.write_text(to_json(dict(sorted(by_pseudonym.items()))), encoding="utf-8")
