"""Where the settings of a flow come from: a file, a variable or a block of Prefect, or values.

A file is reviewed with the code, and belongs to a commit: it is the best place for a policy. A
variable or a block can be changed without a deployment, by whoever may change it on the server.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from prefect.blocks.core import Block
from prefect.exceptions import ObjectNotFound
from prefect.variables import Variable
from pydantic import Field

from mdba_checks.config import CheckConfig
from mdba_checks.errors import InputError
from mdba_checks.prefect.support import read_config
from mdba_checks.tables import local_copy

_VARIABLE, _BLOCK = "variable:", "block:"


class LabelBiasSettings(Block):
    """Settings of a check, kept on the Prefect server under a name.

    Attributes
    ----------
    settings
        What an ``mdba.yaml`` holds, as parsed YAML. A key or a value that cannot be is refused
        before the block is saved.

    Examples
    --------
    >>> made = LabelBiasSettings(settings={"reference": "men", "policy": {"max_gap": 0.2}})
    >>> made.config.policy.max_gap
    0.2

    With a server, ``made.save("production")`` keeps it, and a flow takes it as
    ``label_bias_gate(labels, gold, config="block:production")``.
    """

    _block_type_name = "Label bias settings"
    _block_type_slug = "label-bias-settings"
    _description = "Columns, method and policy of a label bias check, as in mdba.yaml."

    settings: dict[str, Any] = Field(
        default_factory=dict, description="what an mdba.yaml holds: columns, method and policy"
    )

    def model_post_init(self, context: Any, /) -> None:
        """Refuse settings that could not be used."""
        super().model_post_init(context)
        CheckConfig.from_mapping(self.settings, "the block")

    @property
    def config(self) -> CheckConfig:
        """The settings as they are used."""
        return CheckConfig.from_mapping(self.settings, "the block")


Config = str | Path | dict[str, Any] | CheckConfig | LabelBiasSettings
"""What flows take as settings; see `settings_of`."""


def settings_of(config: Config) -> CheckConfig:
    """Return the settings that a flow was given.

    Parameters
    ----------
    config
        The path of a YAML file, also in object storage (``s3://bucket/mdba.yaml``);
        ``variable:NAME``, a variable of Prefect that holds the same as JSON; ``block:NAME``, a
        block of the type `LabelBiasSettings`; such a block; or what a file would hold.

    Raises
    ------
    InputError
        When there is no such file, variable or block, or its settings cannot be used.

    Examples
    --------
    >>> settings_of({"policy": {"max_gap": 0.2}}).policy.max_gap
    0.2
    """
    if isinstance(config, LabelBiasSettings):
        return config.config
    if not isinstance(config, (str, Path)):
        return read_config(config)
    text = str(config)
    if text.startswith(_VARIABLE):
        return _from_variable(text.removeprefix(_VARIABLE))
    if text.startswith(_BLOCK):
        return _from_block(text.removeprefix(_BLOCK))
    with local_copy(text) as path:
        return CheckConfig.from_yaml(path)


def _from_variable(name: str) -> CheckConfig:
    # In a flow that is not asynchronous both return at once; their types say that they may not.
    found = cast("object", Variable.get(name))
    if found is None:
        raise InputError(f"there is no Prefect variable {name!r}: prefect variable set {name} …")
    if not isinstance(found, Mapping):
        raise InputError(
            f"the Prefect variable {name!r} must hold JSON with keys such as 'columns' and 'policy'"
        )
    return CheckConfig.from_mapping(found, f"the Prefect variable {name!r}")


def _from_block(name: str) -> CheckConfig:
    try:
        found = cast("LabelBiasSettings", LabelBiasSettings.load(name))
    except (ValueError, ObjectNotFound):
        raise InputError(
            f"there is no block {name!r} of the type {LabelBiasSettings.get_block_type_slug()!r}: "
            f"LabelBiasSettings(settings=…).save({name!r}) makes one"
        ) from None
    return found.config
