"""Files appear whole or not at all, and never in the place of something else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mdba_checks.errors import InputError
from mdba_checks.outputs.files import check_target, whole_file, write_whole


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_text_and_bytes_arrive_as_they_are_and_nothing_else_is_left(tmp_path):
    write_whole(tmp_path / "text", "Zoë\r\n")
    write_whole(tmp_path / "bytes", b"\x00\xff")
    assert (tmp_path / "text").read_bytes() == "Zoë\r\n".encode()
    assert (tmp_path / "bytes").read_bytes() == b"\x00\xff"
    assert names(tmp_path) == ["bytes", "text"]


def test_an_existing_file_is_kept_unless_forced(tmp_path):
    target = tmp_path / "out"
    target.write_text("old")
    with pytest.raises(InputError, match="it exists; choose another name or use --force"):
        write_whole(target, "new")
    assert target.read_text() == "old"
    write_whole(target, "new", force=True)
    assert target.read_text() == "new"


def test_a_file_made_while_we_were_writing_is_kept(tmp_path):
    target = tmp_path / "out"

    def write_slowly() -> None:
        with whole_file(target) as temporary:
            temporary.write_text("ours")
            target.write_text("theirs")

    with pytest.raises(InputError, match="somebody else just wrote it"):
        write_slowly()
    assert target.read_text() == "theirs"
    assert names(tmp_path) == ["out"]


@pytest.mark.parametrize("disguise", ["plain", "dots", "symlink", "hardlink"])
def test_an_input_is_never_written_to_not_even_with_force(tmp_path, disguise):
    source = tmp_path / "labels.csv"
    source.write_text("precious")
    (tmp_path / "sub").mkdir()
    target = {
        "plain": source,
        "dots": tmp_path / "sub" / ".." / "labels.csv",
        "symlink": tmp_path / "link",
        "hardlink": tmp_path / "hard",
    }[disguise]
    if disguise == "symlink":
        target.symlink_to(source)
    elif disguise == "hardlink":
        target.hardlink_to(source)
    with pytest.raises(InputError, match="it is an input; choose another name"):
        write_whole(target, "new", force=True, inputs=[tmp_path / "absent", source])
    assert source.read_text() == "precious"


def test_nothing_is_written_into_an_input_folder(tmp_path):
    parts = tmp_path / "parts"
    parts.mkdir()
    with pytest.raises(InputError, match=r"the folder .*parts is an input"):
        write_whole(parts / "new.parquet", b"", inputs=[parts])
    assert names(parts) == []


@pytest.mark.parametrize("place", ["folder", "no/such/out", os.devnull])
def test_what_cannot_be_a_file_is_refused_before_any_work(tmp_path, place):
    (tmp_path / "folder").mkdir()
    target = Path(place) if place == os.devnull else tmp_path / place
    with pytest.raises(
        InputError, match=r"cannot write .*(not an ordinary file|there is no folder)"
    ):
        check_target(target, force=True)


def test_through_a_link_the_file_behind_it_is_replaced(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    write_whole(tmp_path / "link", "new", force=True)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_an_error_while_writing_leaves_the_old_file_and_no_temporary_one(tmp_path):
    target = tmp_path / "out"
    target.write_text("old")

    def write_and_stumble() -> None:
        with whole_file(target, force=True) as temporary:
            temporary.write_text("half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_and_stumble()
    assert target.read_text() == "old"
    assert names(tmp_path) == ["out"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_one_line_and_no_file(tmp_path):
    def write_much() -> None:
        with whole_file(tmp_path / "out"):
            Path("/dev/full").write_text("x" * 10_000)

    with pytest.raises(InputError, match=r"cannot write .*out: No space left on device"):
        write_much()
    assert names(tmp_path) == []


def test_the_umask_decides_who_may_read_it(tmp_path):
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "new", "")
    finally:
        os.umask(before)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o640


def test_a_replaced_file_is_not_opened_to_more_people(tmp_path):
    target = tmp_path / "secret"
    target.write_text("old")
    target.chmod(0o600)
    write_whole(target, "new", force=True)
    assert target.stat().st_mode & 0o777 == 0o600
    target.chmod(0o644)
    with whole_file(target, force=True) as temporary:
        temporary.chmod(0o600)
    assert target.stat().st_mode & 0o777 == 0o600


def test_the_longest_possible_name_can_be_written(tmp_path):
    target = tmp_path / ("x" * 255)
    write_whole(target, "done")
    assert target.read_text() == "done"


def writer(target: Path) -> subprocess.Popen[bytes]:
    """Start a process that is in the middle of writing for as long as it lives."""
    program = (
        "import sys, time\n"
        "from mdba_checks.outputs import whole_file\n"
        "with whole_file(sys.argv[1]) as temporary:\n"
        "    temporary.write_text('half')\n"
        "    print('writing', flush=True)\n"
        "    time.sleep(60)\n"
    )
    command = [sys.executable, "-c", program, str(target)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"writing\n"
    return process


def test_a_killed_writer_leaves_only_its_temporary_file_which_the_next_run_removes(tmp_path):
    target = tmp_path / "out.json"
    process = writer(target)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    (left,) = names(tmp_path)
    assert left.startswith(f".out.json.mdba-tmp-{process.pid}-")
    write_whole(target, "whole")
    assert names(tmp_path) == ["out.json"]


def test_the_temporary_file_of_a_living_writer_and_of_other_targets_are_left_alone(tmp_path):
    target = tmp_path / "out.json"
    process = writer(target)
    other = tmp_path / ".another.json.mdba-tmp-1-00000000"
    other.touch()
    (tmp_path / ".out.json.mdba-tmp-mine").touch()
    try:
        before = names(tmp_path)
        write_whole(target, "whole")
        assert names(tmp_path) == sorted([*before, "out.json"])
    finally:
        process.kill()
        process.communicate()


def test_many_writers_at_once_leave_one_whole_file(tmp_path):
    target = tmp_path / "out"
    program = (
        "import os, sys\n"
        "from mdba_checks.outputs import write_whole\n"
        "letter = 'a' if os.fork() else 'b' if os.fork() else 'c'\n"  # one import for all three
        "for _ in range(30):\n"
        "    write_whole(sys.argv[1], letter * 100_000, force=True)\n"
        "if letter != 'c':\n"
        "    assert os.wait()[1] == 0\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program, str(target)])
    seen = set()
    while process.poll() is None:
        if target.exists():
            content = target.read_text()
            assert len(content) == 100_000
            seen |= set(content)
        time.sleep(0.002)
    assert process.returncode == 0
    assert seen <= set("abc")
    assert names(tmp_path) == ["out"]


class TestElsewhere:
    """What is written to object storage is uploaded at once."""

    def test_a_file_in_object_storage_is_written_once_and_replaced_when_asked(self):
        fsspec = pytest.importorskip("fsspec")
        url = "memory://bucket/out.json"
        write_whole(url, "one")
        with pytest.raises(InputError, match=r"memory://bucket/out.json: it exists"):
            check_target(url)
        write_whole(url, "two", force=True)
        with fsspec.open(url) as file:
            assert file.read() == b"two"

    def test_a_file_url_is_the_path_it_stands_for(self, tmp_path):
        target = tmp_path / "my report.html"
        write_whole(target.as_uri(), "page")
        assert target.read_text() == "page"
