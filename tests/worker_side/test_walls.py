"""Behind the walls: each thing that a worker has given up fails, and what it needs goes on working."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from gradfuzz.worker.walls import COMPILER, NONE, STRICT, raise_walls

LINUX = sys.platform.startswith("linux")
needs_linux = pytest.mark.skipif(not LINUX, reason="only Linux lets a process give up files, programs and the network by itself")


def behind(profile, folder, act):
    """What an act does in a process behind the walls: "works", or the name of the error. "open" where the system has no such wall."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        missing = raise_walls(str(folder), profile)
        try:
            act()
            said = "works"
        except BaseException as error:
            said = type(error).__name__
        os.write(writing, f"{said}|{'; '.join(missing)}".encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as stream:
        said, _, missing = stream.read().partition("|")
    os.waitpid(child, 0)
    if missing and profile != NONE:
        pytest.skip(f"this system lacks a wall: {missing}")
    return said


def fork_and_end():
    child = os.fork()
    if child == 0:
        signal.pause()
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def talk_to_itself():
    one, other = socket.socketpair()
    one.send(b"x")
    assert other.recv(1) == b"x"


def run_a_thread():
    thread = threading.Thread(target=lambda: None)
    thread.start()
    thread.join()


@needs_linux
def test_what_was_given_up_fails(tmp_path):
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (outside / "kept").write_text("kept")
    acts = {
        "make a file": lambda: (outside / "new").write_text("x"),
        "change a file": lambda: (outside / "kept").write_text("x"),
        "append to a file": lambda: (outside / "kept").open("a"),
        "cut off a file": lambda: os.truncate(outside / "kept", 0),
        "remove a file": lambda: (outside / "kept").unlink(),
        "rename a file": lambda: (outside / "kept").rename(outside / "other"),
        "take a file in": lambda: (outside / "kept").rename(inside / "kept"),
        "make a folder": lambda: (outside / "folder").mkdir(),
        "make a link": lambda: os.symlink("/etc", outside / "link"),
        "change rights": lambda: (outside / "kept").chmod(0o777),
        "start a program": lambda: subprocess.run([sys.executable, "-c", "pass"]),
        "replace itself": lambda: os.execv(sys.executable, [sys.executable, "-c", "pass"]),
        "open a socket": lambda: socket.socket(),
        "open a local socket": lambda: socket.socket(socket.AF_UNIX),
        "signal its supervisor": lambda: os.kill(os.getppid(), signal.SIGTERM),
    }
    said = {name: behind(STRICT, inside, act) for name, act in acts.items()}
    assert said == dict.fromkeys(acts, "PermissionError")
    assert [p.name for p in outside.iterdir()] == ["kept"] and (outside / "kept").read_text() == "kept"


@needs_linux
def test_what_a_worker_needs_goes_on_working(tmp_path):
    acts = {
        "a temporary file": lambda: os.close(tempfile.mkstemp()[0]),
        "a file in its folder": lambda: (tmp_path / "new").write_text("x"),
        "reading": lambda: Path(__file__).read_text(),
        "nothing": lambda: Path("/dev/null").write_text("x"),
        "threads": run_a_thread,
        "forks of its own": fork_and_end,
        "pairs of sockets": talk_to_itself,
    }
    assert {name: behind(STRICT, tmp_path, act) for name, act in acts.items()} == dict.fromkeys(acts, "works")


@needs_linux
def test_a_compiler_may_be_started_and_still_reaches_no_network(tmp_path):
    assert behind(COMPILER, tmp_path, lambda: subprocess.run([sys.executable, "-c", "pass"], check=True)) == "works"
    assert behind(COMPILER, tmp_path, lambda: socket.socket()) == "PermissionError"


def test_without_walls_it_says_so(tmp_path):
    assert raise_walls(str(tmp_path), NONE) == ["everything: the target asks for no walls"]
