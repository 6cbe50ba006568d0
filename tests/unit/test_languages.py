"""The registry of languages."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from oi_engine.computer.drivers.shell import shell_driver
from oi_engine.computer.languages import LANGUAGES, available, canonical, driver, language


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("python", "python"),
        ("Py", "python"),
        (" python3 ", "python"),
        ("bash", "shell"),
        ("sh", "shell"),
        ("ZSH", "shell"),
        ("js", "javascript"),
        ("node", "javascript"),
        ("rb", "ruby"),
        ("R", "r"),
        ("pwsh", "powershell"),
        ("osascript", "applescript"),
        ("HTML", "html"),
        ("react", "react"),
        ("java", "java"),
    ],
)
def test_canonical(name: str, expected: str) -> None:
    assert canonical(name) == expected


@pytest.mark.parametrize("name", ["", "text", "output", "json", "display", "diff", "markdown", "cobol", "python 3"])
def test_not_a_language(name: str) -> None:
    assert canonical(name) is None
    assert language(name) is None
    assert driver(name) is None
    assert not available(name).found


def test_no_name_means_two_languages() -> None:
    names = [name for each in LANGUAGES for name in (each.name, *each.aliases)]
    assert len(names) == len(set(names))
    assert all(name == name.lower() for name in names)


def test_every_language_that_runs_behind_a_driver_has_one() -> None:
    for each in LANGUAGES:
        found = driver(each.name)
        assert (found is not None) == (each.runs == "repl")
        assert found is None or found.language == each.name


def _program(folder: Path, name: str) -> str:
    path = folder / name
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return str(path)


def test_availability(tmp_path: Path) -> None:
    env = {"PATH": str(tmp_path)}
    missing = available("js", env=env)
    assert not missing.found
    assert "nodejs" in missing.remedy
    program = _program(tmp_path, "node")
    assert available("js", env=env).program == program
    assert available("html", env=env).found
    assert available("python", env=env).found


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("r", "r-base-core"),
        ("ruby", "apt-get install ruby"),
        ("java", "default-jdk-headless"),
        ("powershell", "PowerShell 7"),
        ("applescript", "macOS"),
    ],
)
def test_what_is_missing_says_how_to_get_it(name: str, remedy: str, tmp_path: Path) -> None:
    missing = available(name, env={"PATH": str(tmp_path)})
    assert not missing.found
    assert remedy in missing.remedy


def test_which_shell(tmp_path: Path) -> None:
    env = {"PATH": str(tmp_path), "SHELL": "/bin/zsh"}
    assert shell_driver(env=env).programs == ("bash",)
    assert "bash" in available("shell", env=env).remedy
    _program(tmp_path, "zsh")
    assert shell_driver(env={**env, "SHELL": ""}).programs == ("zsh",)
    _program(tmp_path, "bash")
    assert shell_driver(env={**env, "SHELL": ""}).programs == ("bash",)
    assert shell_driver(env=env).programs == ("zsh",)
    assert shell_driver(env={**env, "SHELL": "/usr/bin/fish"}).programs == ("bash",)
    chosen = shell_driver(f"{tmp_path}{os.sep}zsh", env=env)
    assert chosen.find("") == f"{tmp_path}{os.sep}zsh"
    assert chosen.opening
