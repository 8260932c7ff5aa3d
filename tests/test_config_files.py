"""A file of settings that cannot be read is one line that names the file and the reason."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdba_checks.config import CheckConfig
from mdba_checks.errors import InputError
from tests.helpers import refusal, settings_from


@pytest.fixture
def read(tmp_path):
    """Return a function that writes some YAML and reads it as a configuration."""
    return partial(settings_from, tmp_path / "mdba.yaml")


class TestUnreadableFiles:
    @pytest.mark.parametrize(
        ("content", "reason"),
        [
            ("- seed\n- 3\n", "must hold keys"),
            ("just a sentence", "must hold keys"),
            ("seed: 1\npolicy: [\n", "not valid YAML at line 3"),
            ("seed: 1\n a: b: c\n", "not valid YAML at line 2"),
            ("\tseed: 1\n", "not valid YAML at line 1"),
            ("seed: 1\n---\nseed: 2\n", "another document"),
            ("? [a]\n: 1\n", "not valid YAML"),
            (b"\xff\xfes\x00e\x00", "not UTF-8"),
            (b"PAR1\x00\x01\x02\x15", "not text"),
            (b"\x1f\x8b\x08\x00\x00", "not UTF-8"),
            ("seed: !!int x\n", "cannot read"),
            ("seed: !!timestamp x\n", "cannot read"),
            ("drop_missing: !!bool x\n", "cannot read"),
            ("seed: " + "9" * 5_000 + "\n", "cannot read"),
            ("seed: " + "[" * 5_000 + "\n", "cannot read"),
        ],
    )
    def test_it_is_one_line_that_names_the_file_and_the_reason(self, read, content, reason):
        text = refusal(read, content)
        assert "mdba.yaml" in text
        assert reason in text

    def test_a_file_that_is_not_there(self, tmp_path):
        path = tmp_path / "mdba.yml"
        assert refusal(CheckConfig.from_yaml, path) == (
            f"cannot read config {path}: No such file or directory"
        )

    def test_a_folder(self, tmp_path):
        assert str(tmp_path) in refusal(CheckConfig.from_yaml, tmp_path)

    @pytest.mark.parametrize("path", ["a\0b", "a" * 5_000])
    def test_a_path_that_cannot_be(self, path):
        assert "cannot read config" in refusal(CheckConfig.from_yaml, path)

    def test_a_place_that_cannot_be_written_to(self, tmp_path):
        path = tmp_path / "missing" / "mdba.yaml"
        assert str(path) in refusal(CheckConfig().to_yaml, path)
        assert not path.parent.exists()

    def test_every_refused_value_comes_with_the_name_of_its_file(self, read):
        assert "mdba.yaml: 'policy.max_gap' is 2" in refusal(read, "policy: {max_gap: 2}")

    @pytest.mark.parametrize(
        "tag",
        [
            "!!python/object/apply:os.system ['touch {}']",
            "!!python/object/apply:subprocess.check_output [[touch, '{}']]",
            "!!python/object/new:os.system ['touch {}']",
            "!!python/name:os.system",
            "!!python/module:os",
            "!anything {{}}",
        ],
    )
    def test_a_tag_that_would_run_code_is_refused_and_nothing_runs(self, read, tmp_path, tag):
        trace = tmp_path / "it_ran"
        assert "not valid YAML" in refusal(read, "reference: " + tag.format(trace))
        assert "not valid YAML" in refusal(read, tag.format(trace))
        assert not trace.exists()

    def test_a_value_that_doubles_itself_over_and_over_is_refused_at_once(self, read):
        lines = ["a0: &a0 [x, x]"]
        lines += [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 60)]
        text = refusal(read, "\n".join([*lines, "reference: *a59"]))
        assert "'reference'" in text
        assert len(text) < 20_000

    def test_a_value_that_holds_itself_is_refused(self, read):
        assert "'reference'" in refusal(read, "reference: &a [*a]")

    @given(
        st.one_of(
            st.binary(max_size=60),
            st.text(max_size=60).map(str.encode),
            st.text(alphabet="policyseedc: -[]{}'\"&*!|>%@#?~0129.\n\t,<=", max_size=60).map(
                str.encode
            ),
        )
    )
    def test_whatever_the_file_holds_it_is_a_configuration_or_one_line(
        self, tmp_path_factory, content
    ):
        path = tmp_path_factory.getbasetemp() / "any.yaml"
        path.write_bytes(content)
        try:
            CheckConfig.from_yaml(path)
        except InputError as error:
            assert "any.yaml" in str(error)  # noqa: PT017 (an error is only one of two good ends)
            assert "\n" not in str(error)  # noqa: PT017
