"""What shells complete, in a real bash; the scripts of the other shells hold every option."""

import shutil
import subprocess

import pytest

from howsure.cli.application import COMMANDS, application, run
from howsure.cli.completion import commands, flags
from howsure.cli.parser import Family

ALL = {path: at for path, at in commands(application()) if not isinstance(at, Family)}


def script(shell, capsys):
    assert run(["completion", shell]) == 0
    return capsys.readouterr().out


@pytest.fixture
def completed(capsys, tmp_path):
    """What bash offers for a line that is typed up to here."""
    bash = shutil.which("bash") or pytest.skip("there is no bash")
    (tmp_path / "howsure.bash").write_text(script("bash", capsys))
    for name in ("data.csv", "dev.csv"):
        (tmp_path / name).touch()

    def ask(line):
        typed = line.split(" ")
        code = f"""set -eu; source howsure.bash
        [[ $(complete -p howsure) == *_howsure* ]]
        COMP_WORDS=({" ".join(f"'{w}'" for w in typed)}); COMP_CWORD={len(typed) - 1}
        _howsure; printf '%s\\n' "${{COMPREPLY[@]}}" """
        done = subprocess.run([bash, "--norc", "-c", code], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return set(done.stdout.split())

    return ask


def test_bash_completes_commands(completed):
    assert completed("howsure ") == {*COMMANDS, "--help"}
    assert completed("howsure c") == {"check", "compare", "count", "classify", "coref", "completion"}
    assert completed("howsure lm p") == {"perplexity", "prob"}


def test_bash_completes_options_of_the_command(completed):
    assert completed("howsure check data.csv --gr") == {"--groups"}
    assert completed("howsure recalibrate fit d --me") == {"--method"}
    assert completed("howsure check --") == {f for p in ALL["check"].options for f in flags(p)} | {"--help"}
    assert "--no-sentences" in completed("howsure lm train t --no")


def test_bash_completes_files_where_files_go(completed):
    assert completed("howsure check d") == {"data.csv", "dev.csv"}
    assert completed("howsure classify train logistic data.csv --dev de") == {"dev.csv"}
    assert completed("howsure check data.csv --prob d") == set()  # the name of a column


def test_the_tab_key(capsys, tmp_path):
    """The line that a person sees in an interactive bash."""
    import os
    import pty
    import select

    bash = shutil.which("bash") or pytest.skip("there is no bash")
    (tmp_path / "howsure.bash").write_text(script("bash", capsys))
    child, terminal = pty.fork()
    if child == 0:  # pragma: no cover
        os.execve(bash, [bash, "--norc", "--noprofile", "-i"], {"TERM": "dumb", "PS1": "> ", "HOME": str(tmp_path)})
    seen = b""

    def until(wanted):
        nonlocal seen
        while wanted not in seen:
            ready, _, _ = select.select([terminal], [], [], 10)
            assert ready, seen
            seen += os.read(terminal, 4096)

    try:
        os.write(terminal, f"source {tmp_path}/howsure.bash; echo rea''dy\n".encode())
        until(b"ready")
        os.write(terminal, b"howsure recal\tap\tcal.json --na\t")
        until(b"howsure recalibrate apply cal.json --name ")
    finally:
        os.write(terminal, b"\x03\x04")
        os.close(terminal)
        os.waitpid(child, 0)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_command_and_option_is_in_every_script(shell, capsys):
    said = script(shell, capsys)
    lines = said.splitlines()
    for path, at in ALL.items():
        of = "\n".join(line for line in lines if path in line)
        for p in at.options:
            for flag in flags(p):
                wanted = flag if shell != "fish" else f"-l {flag[2:]} " if flag.startswith("--") else f"-s {flag[1:]} "
                assert wanted in of, (path, flag)
    if syntax := shutil.which(shell):
        assert subprocess.run([syntax, "-n"], input=said, text=True).returncode == 0


def test_an_unknown_shell_is_one_line(capsys):
    assert run(["completion", "tcsh"]) == 2
    assert capsys.readouterr().err == "howsure: SHELL must be one of bash, zsh, fish; got 'tcsh'.\n"
