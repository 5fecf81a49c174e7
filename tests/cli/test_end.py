"""How a command of the shell ends: at once, but not before what was asked to run at the end, threads and output."""

import os
import shlex
import signal
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
STARTS = """from howsure import cli
shutdown = threading._shutdown
threading._shutdown = lambda: (print("ending"), shutdown())
"""
BUFFERED = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}


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
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "howsure", *arguments]
        for environment in (BUFFERED, BUFFERED | {"PYTHONUNBUFFERED": "1"}):
            done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, env=environment)
            assert done.returncode == 2
            assert done.stderr.count(b"\n") == 1
            assert b"No space left on device" in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_an_error_that_cannot_be_said_keeps_its_status():
    command = [sys.executable, "-m", "howsure", "check", "no-such-file"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=full, env=BUFFERED)
    assert (done.returncode, done.stdout) == (2, b"")
    closed = subprocess.run(f"{shlex.join(command)} 2>&-", shell=True, stdout=subprocess.PIPE, env=BUFFERED)
    assert (closed.returncode, closed.stdout) == (2, b"")


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
def test_ctrl_c_while_it_ends():
    """What is registered is done, and no more threads are waited for."""
    waiting = CODE.format(arguments=["--version"]).replace("0.3", "20").replace("from howsure import cli", STARTS)
    with subprocess.Popen(
        [sys.executable, "-uc", waiting], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout.readline().startswith("howsure")
        assert process.stdout.readline() == "ending\n"
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=15) == ("at the end\n", "howsure: stopped\n")
    assert process.returncode == 130
