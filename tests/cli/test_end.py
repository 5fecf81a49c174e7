"""How a command of the shell ends: at once, but not before what was asked to run at the end, threads and output."""

import os
import subprocess
import sys

import pytest

CODE = """
import atexit, sys, threading, time
from howsure import cli
atexit.register(lambda: print("at the end"))
threading.Thread(target=lambda: (time.sleep(0.3), print("a thread"))).start()
sys.argv = ["howsure", *{arguments}]
cli.main()
"""


def ended(*arguments, **given):
    return subprocess.run([sys.executable, "-c", CODE.format(arguments=arguments)], text=True, **given)


def test_threads_and_what_is_registered_come_first():
    done = ended("--version", capture_output=True)
    assert (done.returncode, done.stdout.splitlines()[1:], done.stderr) == (0, ["a thread", "at the end"], "")


def test_the_status_is_kept():
    done = ended("check", "no-such-file", capture_output=True)
    assert done.returncode == 2
    assert "no-such-file" in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("arguments", [["--version"], ["check", "--help"], ["check", "--demo"]])
def test_output_that_cannot_be_written_is_not_passed_over(arguments):
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "howsure", *arguments]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, env=buffered)
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1
    assert b"No space left on device" in done.stderr
