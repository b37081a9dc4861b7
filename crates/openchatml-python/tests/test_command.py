"""The command that is installed with the package."""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import sys
import time

import openchatml
import pytest

BIN = pathlib.Path(sys.executable).parent
TEXT = "<|im_start|>user\nHi!<|im_end|>\n"
COMMANDS = [[sys.executable, "-m", "openchatml"], [str(BIN / "ocml")], [str(BIN / "openchatml")]]


def run(*arguments: str, command: list[str] = COMMANDS[0], **options: object):
    return subprocess.run([*command, *arguments], capture_output=True, text=True, **options)


@pytest.mark.parametrize("command", COMMANDS, ids=["module", "ocml", "openchatml"])
def test_the_command_is_on_the_path(command: list[str]) -> None:
    done = run("--version", command=command)
    assert done.returncode == 0 and done.stdout == f"ocml {openchatml.__version__}\n"


def test_exit_status_and_output() -> None:
    done = run("convert", "-f", "chatml", "-t", "openai", input=TEXT)
    assert done.returncode == 0
    assert done.stdout.strip() == '{"messages":[{"role":"user","content":"Hi!"}]}'
    assert run("check", "-f", "chatml", input="<|im_start|>user\nHi!").returncode == 1
    assert run("--no-such-option").returncode == 2
    assert "Usage: ocml" in run("--help").stdout


def test_a_closed_output_is_no_error() -> None:
    lines = (TEXT.strip() + "\n") * 200_000
    reader = subprocess.Popen(["head", "-c", "10"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    writer = subprocess.Popen(
        [*COMMANDS[0], "convert", "-f", "chatml", "-t", "openai"],
        stdin=subprocess.PIPE,
        stdout=reader.stdin,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert reader.stdin is not None
    reader.stdin.close()
    _, errors = writer.communicate(lines)
    assert writer.returncode == 0 and errors == ""
    reader.wait()


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_ctrl_c_ends_the_command() -> None:
    process = subprocess.Popen(
        [*COMMANDS[0], "stream", "-f", "chatml"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(TEXT.encode())
    process.stdin.flush()
    assert process.stdout.readline()
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=10)
    assert process.returncode == -signal.SIGINT and b"Traceback" not in errors
