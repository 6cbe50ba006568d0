"""Profiles: found by name and by path, read from YAML, JSON and Python, and put together with the other sources."""

from __future__ import annotations

import asyncio
import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from oi_engine import paths
from oi_engine.errors import ProfileError, ProfileNotFound
from oi_engine.profiles.files import LARGEST, read_file
from oi_engine.profiles.live import (
    LiveSettings,
    Sources,
    ensure_default,
    find_profile,
    list_profiles,
    read_profile,
)
from oi_engine.profiles.python import read_python
from oi_engine.profiles.template import DEFAULT_PROFILE
from oi_engine.settings import Settings, read


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A profiles folder with an empty default profile."""
    write(tmp_path / "profiles" / "default.yaml", "version: 0.2.5\n")
    return tmp_path / "profiles"


def sources(folder: Path, **more: Any) -> Sources:
    return Sources(folder=folder, **{"environment": {}, **more})


# --- finding


@pytest.mark.parametrize("file", ["work.yaml", "work.yml", "work.json", "work.py"])
def test_by_name_with_and_without_its_extension(folder: Path, file: str) -> None:
    path = write(folder / file, "{}")
    assert find_profile("work", folder) == path
    assert find_profile(file, folder) == path
    assert list_profiles(folder) == sorted(["default.yaml", file])


def test_a_name_with_a_dot(folder: Path) -> None:
    path = write(folder / "gpt-4.1.yaml", "")
    assert find_profile("gpt-4.1", folder) == path


def test_by_path(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "mine.yaml", "")
    assert find_profile(str(path), folder) == path
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert find_profile("~/mine.yaml", folder) == path
    monkeypatch.chdir(tmp_path)
    assert find_profile("./mine.yaml", folder) == path
    with pytest.raises(ProfileNotFound):
        find_profile("mine.yaml", folder)


def test_what_is_not_there_is_said_with_what_is(folder: Path) -> None:
    with pytest.raises(ProfileNotFound, match="Did you mean 'default'"):
        find_profile("defalt", folder)
    with pytest.raises(ProfileNotFound, match=r"holds default\.yaml"):
        find_profile("zzz", folder)
    with pytest.raises(ProfileNotFound, match="no such file"):
        find_profile("/no/such.yaml", folder)
    assert list_profiles(folder / "none") == []


@pytest.mark.parametrize("name", ["../secret", "https://example.org/p.yaml", "/etc/passwd"])
def test_a_name_leads_nowhere_else(folder: Path, name: str) -> None:
    write(folder.parent / "secret.yaml", "auto_run: true")
    with pytest.raises(ProfileError):
        find_profile(name, folder)


@pytest.mark.parametrize("name", ["evil.py", "evil.yaml", "evil.json"])
def test_a_profile_is_not_taken_from_a_workspace(folder: Path, tmp_path: Path, name: str) -> None:
    workspace = tmp_path / "work"
    inside = write(workspace / name, "")
    link = tmp_path / f"link{inside.suffix}"
    link.symlink_to(inside)
    for path in (inside, link, workspace / ".." / "work" / name):
        with pytest.raises(ProfileError, match="not taken from a workspace"):
            find_profile(str(path), folder, [workspace])
    assert find_profile(str(inside), folder, [tmp_path / "elsewhere"]) == inside


def test_the_profiles_folder_counts_also_where_the_home_folder_is_the_workspace(folder: Path) -> None:
    path = write(folder / "mine.yaml", "")
    assert find_profile(str(path), folder, [folder.parent.parent]) == path


# --- the default profile


def test_the_default_profile_is_made_once(tmp_path: Path) -> None:
    folder = tmp_path / "config" / "profiles"
    path = ensure_default(folder)
    assert path is not None
    assert path.read_text(encoding="utf-8") == DEFAULT_PROFILE
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.write_text("mine", encoding="utf-8")
    assert ensure_default(folder) is None
    assert path.read_text(encoding="utf-8") == "mine"


def test_no_default_is_made_beside_another(tmp_path: Path) -> None:
    write(tmp_path / "default.json", "{}")
    assert ensure_default(tmp_path) is None
    assert list_profiles(tmp_path) == ["default.json"]


async def test_the_template_says_nothing_but_its_version(tmp_path: Path) -> None:
    parsed = read_file(write(tmp_path / "default.yaml", DEFAULT_PROFILE))
    assert parsed.data == {"version": "0.2.5"}
    assert read(parsed.data) == (Settings(), [])


def test_every_line_of_the_template_can_be_taken_in(tmp_path: Path) -> None:
    lines = [re.sub(r"^# ( *\w+:)", r"\1", line) for line in DEFAULT_PROFILE.splitlines()]
    assert sum(not line.startswith("#") for line in lines) > 12
    _, problems = read(read_file(write(tmp_path / "p.yaml", "\n".join(lines))).data)
    assert problems == []


# --- reading


async def test_the_documented_yaml(tmp_path: Path) -> None:
    text = (
        'llm:\n  model: "gpt-4-o"\n  temperature: 0\n  # api_key: ...\ncomputer:\n  import_computer_api: False\n'
        'custom_instructions: ""\nauto_run: False\noffline: False\nversion: 0.2.5\n'
    )
    parsed = await read_profile(write(tmp_path / "p.yaml", text))
    found, problems = read(parsed.data)
    assert (found.llm.model, found.auto_run, problems) == ("gpt-4-o", False, [])
    assert parsed.positions["llm.temperature"] == (3, 3)


async def test_dotted_and_flat_yaml(tmp_path: Path) -> None:
    text = "\ufeffllm.model: gpt-4\nllm.temperature: 0.5\napi_version: 2024-02-01\nsafe_mode: off\n"
    found, problems = read((await read_profile(write(tmp_path / "p.yml", text))).data)
    assert (found.llm.model, found.llm.temperature, problems) == ("gpt-4", 0.5, [])
    assert (found.llm.api_version, found.safe_mode) == ("2024-02-01", "off")


async def test_json(tmp_path: Path) -> None:
    parsed = await read_profile(write(tmp_path / "p.json", json.dumps({"llm": {"model": "m"}, "auto_run": True})))
    assert read(parsed.data)[0].llm.model == "m"


@pytest.mark.parametrize(
    ("name", "text", "line", "column", "words"),
    [
        ("p.yaml", "llm:\n  model: a: b\n", 2, 11, "Mapping values are not allowed"),
        ("p.yaml", "auto_run: false\n\tx: 1\n", 2, 1, "found a tab character"),
        ("p.yaml", "- auto_run\n", 1, None, "must hold names of settings"),
        ("p.yaml", "a: 1\nb: !!python/name:os.system\n", 2, 4, "Tags"),
        ("p.yaml", "a: 1\n---\nb: 2\n", 2, 1, "single document"),
        ("p.yaml", "a: 1\nb: *c\n", 2, 4, "undefined alias"),
        ("p.yaml", "a: 1\nb: \x07\n", 2, None, "control character"),
        ("p.json", '{"a": 1,\n "b" 2}', 2, 6, "Expecting ':'"),
        ("p.json", "[1]", 1, None, "must hold names of settings"),
        ("p.json", "[" * 60_000, None, None, "no JSON that can be read"),
        ("p.yaml", "x" * (LARGEST + 1), None, None, "64 KiB"),
    ],
)
def test_an_error_has_its_place(
    tmp_path: Path, name: str, text: str, line: int | None, column: int | None, words: str
) -> None:
    path = write(tmp_path / name, text)
    with pytest.raises(ProfileError) as caught:
        read_file(path)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert words in caught.value.reason
    assert str(caught.value).startswith(str(path))


def test_what_is_no_text_and_no_file(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_bytes(b"a: 1\nb: \xff\n")
    with pytest.raises(ProfileError, match="UTF-8") as caught:
        read_file(path)
    assert caught.value.line == 2
    with pytest.raises(ProfileError):
        read_file(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_pipe_does_not_hold_the_reader_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "p.yaml")
    with pytest.raises(ProfileError, match="not a file"):
        read_file(tmp_path / "p.yaml")


# --- Python profiles


async def python(tmp_path: Path, text: str, **more: Any) -> Any:
    return await read_python(write(tmp_path / "p.py", text), **more)


@pytest.mark.parametrize("module", ["interpreter", "oi_engine"])
async def test_a_python_profile(tmp_path: Path, module: str) -> None:
    parsed = await python(
        tmp_path,
        f"from {module} import interpreter\n\n"
        "interpreter.os = False\n"
        "interpreter.llm.model = 'gpt-4o'\n"
        "interpreter.llm.context_window = 110000\n"
        "interpreter.auto_run = True\n"
        "interpreter.model = interpreter.llm.model + '-mini'\n"
        "interpreter.system_message += '\\nRun all shell commands with -y.'\n"
        "interpreter.loop_breakers.append('Enough.')\n"
        "len(interpreter.computer.env_allow), interpreter.computer.offline, dir(interpreter), repr(interpreter.llm)\n",
    )
    found, problems = read(parsed.data)
    assert problems == []
    assert (found.llm.model, found.llm.context_window, found.auto_run) == ("gpt-4o-mini", 110000, True)
    assert found.system_message == Settings().system_message + "\nRun all shell commands with -y."
    assert found.loop_breakers == (*Settings().loop_breakers, "Enough.")
    assert parsed.positions["auto_run"] == (6, None)
    assert "computer.env_allow" not in parsed.data


async def test_a_python_profile_is_an_ordinary_program(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "helper.py", "MODEL = 'm'")
    parsed = await python(
        tmp_path,
        "import os, sys, subprocess\nfrom helper import MODEL\nfrom interpreter import interpreter\n"
        "print('printed'); sys.stdout.write('written'); subprocess.run(['echo', 'child'])\n"
        "interpreter.llm.model = MODEL if __name__ == '__main__' else ''\n"
        "interpreter.llm.api_key = os.environ['A_KEY']\n"
        "sys.exit()\n",
        environ={"A_KEY": "k", "PATH": os.environ["PATH"]},
    )
    assert parsed.data == {"llm.model": "m", "llm.api_key": "k"}
    out, error = capfd.readouterr()
    assert out == ""
    assert all(word in error for word in ("printed", "written", "child"))


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("interpreter.auto_rnu = True", 2, "Did you mean 'interpreter.auto_run'?"),
        ("x = 1\ninterpreter.llm.modle", 3, "Did you mean 'interpreter.llm.model'?"),
        ("interpreter.chat('hi')", 2, "can only set settings"),
        ("interpreter.llm.completions = print", 2, "Python API"),
        ("interpreter.computer.languages", 2, "Python API"),
        ("interpreter.llm.model = print", 2, "TypeError: llm.model cannot be set to builtin_function_or_method"),
        ("interpreter.llm = {}", 2, "group of settings"),
        ("from interpreter import OpenInterpreter\nOpenInterpreter()", 3, "makes an interpreter"),
        ("def f(:", 2, "SyntaxError"),
        ("1/0", 2, "ZeroDivisionError"),
        ("import json; json.loads('x')", 2, "JSONDecodeError"),
        ("raise KeyboardInterrupt", 2, "KeyboardInterrupt"),
        ("import sys; sys.exit('no')", 2, "It ended itself: no"),
        ("import os; os._exit(3)", None, "exit code 3"),
    ],
)
async def test_an_error_in_python_has_its_line(tmp_path: Path, text: str, line: int | None, words: str) -> None:
    with pytest.raises(ProfileError) as caught:
        await python(tmp_path, f"from interpreter import interpreter\n{text}\n")
    assert caught.value.line == line
    assert words in caught.value.reason


async def test_a_profile_that_does_not_end_is_ended(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match=r"still running after 0\.5 seconds"):
        await python(tmp_path, "import time\nwhile True: time.sleep(60)\n", patience=0.5)


async def test_to_cancel_ends_the_profile(tmp_path: Path) -> None:
    told = tmp_path / "told"
    os.mkfifo(told)
    text = f"import os, time\nopen({str(told)!r}, 'w').write(str(os.getpid()))\nwhile True: time.sleep(60)\n"
    task = asyncio.create_task(python(tmp_path, text))
    pid = int(await asyncio.to_thread(told.read_text))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not alive(pid)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_a_profile_that_is_gone(tmp_path: Path) -> None:
    for name in ("p.py", "p.yaml"):
        with pytest.raises(ProfileNotFound):
            await read_profile(tmp_path / name)


async def test_what_does_not_fit_is_told_with_its_line(folder: Path) -> None:
    write(folder / "p.py", "from interpreter import interpreter\ninterpreter.auto_run = 'yes'\n")
    resolved = await LiveSettings(sources(folder, session={"profile": "p"})).load()
    (problem,) = resolved.problems
    assert str(problem).startswith(f"{folder / 'p.py'}:2: auto_run must be true or false")


# --- all sources together


async def test_the_order_of_the_sources(folder: Path, tmp_path: Path) -> None:
    said: dict[str, Any] = {}
    write(folder / "default.yaml", "max_output: 1\ntemperature: 0.1\n")
    assert (await LiveSettings(sources(folder)).load()).settings.llm.max_output == 1
    write(tmp_path / "w" / ".oi" / "settings.yaml", "max_output: 2\nauto_run: false\n")
    said["workspaces"] = (tmp_path / "w",)
    assert (await LiveSettings(sources(folder, **said)).load()).settings.llm.max_output == 2
    write(folder / "work.yaml", "max_output: 3\nauto_run: true\n")
    said["environment"] = {"OI_PROFILE": "work"}
    assert (await LiveSettings(sources(folder, **said)).load()).settings.llm.max_output == 3
    said["environment"] = {"OI_PROFILE": "work", "OI_LLM_MAX_OUTPUT": "4"}
    assert (await LiveSettings(sources(folder, **said)).load()).settings.llm.max_output == 4
    said["editor"] = {"max_output": 5}
    assert (await LiveSettings(sources(folder, **said)).load()).settings.llm.max_output == 5
    said["session"] = {"max_output": 6}
    resolved = await LiveSettings(sources(folder, **said)).load()
    assert resolved.settings.llm.max_output == 6
    assert resolved.settings.llm.temperature == 0.1
    assert resolved.settings.auto_run is False
    assert resolved.origins["llm.temperature"].where == str(folder / "default.yaml")
    assert resolved.origins["llm.temperature"].line == 2
    assert [problem.name for problem in resolved.problems] == []


async def test_who_chooses_the_profile(folder: Path) -> None:
    for name in ("one", "two", "three"):
        write(folder / f"{name}.yaml", f"llm.model: {name}")
    chosen: dict[str, Any] = {"environment": {"OI_PROFILE": "one"}}
    assert (await LiveSettings(sources(folder, **chosen)).load()).settings.llm.model == "one"
    chosen["editor"] = {"profile": "two.yaml"}
    assert (await LiveSettings(sources(folder, **chosen)).load()).settings.llm.model == "two"
    chosen["session"] = {"profile": str(folder / "three.yaml")}
    assert (await LiveSettings(sources(folder, **chosen)).load()).settings.llm.model == "three"
    chosen["session"] = {"profile": "default"}
    assert (await LiveSettings(sources(folder, **chosen)).load()).settings.llm.model == ""


async def test_the_last_good_one_stays_in_force(folder: Path) -> None:
    path = write(folder / "work.yaml", "llm.model: good\nmax_budget: 2\n")
    live = LiveSettings(sources(folder, session={"profile": "work"}))
    assert (await live.load()).problems == ()
    write(path, "llm.model: worse\nmax_budget: [\n")
    resolved = await live.load()
    assert (resolved.settings.llm.model, resolved.settings.max_budget) == ("good", 2.0)
    (problem,) = resolved.problems
    assert (problem.severity, problem.where, problem.line) == ("error", str(path), 3)
    assert "what it said before stays in force" in problem.message
    path.unlink()
    assert (await live.load()).settings.llm.model == "good"
    write(path, "llm.model: better\n")
    resolved = await live.load()
    assert (resolved.settings.llm.model, resolved.settings.max_budget, resolved.problems) == ("better", None, ())


@pytest.mark.parametrize("broken", ["default.yaml", "work.yaml", ".oi/settings.yaml"])
async def test_what_was_never_good_leaves_the_strictest(folder: Path, tmp_path: Path, broken: str) -> None:
    write(tmp_path / broken if broken.startswith(".") else folder / broken, "a: b: c")
    profile = {"profile": "work"} if broken == "work.yaml" else {}
    resolved = await LiveSettings(sources(folder, workspaces=(tmp_path,), editor=profile)).load()
    found = resolved.settings
    assert (found.auto_run, found.safe_mode, found.max_budget, found.offline) == (False, "auto", 0.0, True)
    assert [problem.severity for problem in resolved.problems] == ["error"]


async def test_no_profile_of_that_name(folder: Path) -> None:
    resolved = await LiveSettings(sources(folder, session={"profile": "defaul"})).load()
    assert "Did you mean 'default'" in resolved.problems[0].message


async def test_a_key_that_is_set_twice(folder: Path) -> None:
    write(folder / "default.yaml", "auto_run: false\nllm:\n  model: a\nauto_run: true\n")
    (problem,) = (await LiveSettings(sources(folder)).load()).problems
    assert (problem.name, problem.line) == ("auto_run", 4)


async def test_a_hostile_workspace_file(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / ".oi" / "settings.yaml"
    for text in ("[" * 60_000, "a: &a [x]\nb: *a\n", "a: !!python/object/apply:os.system [x]\n", "\0"):
        write(file, text)
        resolved = await LiveSettings(sources(folder, workspaces=(tmp_path,))).load()
        assert [problem.severity for problem in resolved.problems] == ["error"]


async def test_first_use_makes_the_default_profile(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "profiles"
    resolved = await LiveSettings(sources(folder)).load()
    assert (resolved.settings, resolved.problems) == (Settings(), ())
    assert list_profiles(folder) == ["default.yaml"]


async def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    write(tmp_path / "file", "")
    resolved = await LiveSettings(sources(tmp_path / "file" / "profiles")).load()
    assert resolved.settings == Settings()
    assert [problem.severity for problem in resolved.problems] == ["note"]


# --- folders


@pytest.mark.skipif(sys.platform != "linux", reason="the folders of another system")
def test_the_folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    found = (paths.profiles_folder(), paths.data_folder(), paths.state_folder(), paths.cache_folder())
    assert found == tuple(tmp_path / name for name in ("CONFIG/oi-lsp/profiles", *(
        f"{name}/oi-lsp" for name in ("DATA", "STATE", "CACHE")
    )))  # fmt: skip
    made = paths.made(paths.data_folder())
    assert stat.S_IMODE(made.stat().st_mode) == 0o700


def test_what_takes_time_to_import_is_imported_when_it_is_needed() -> None:
    code = "import sys, oi_engine.profiles; print(*{'yaml', 'watchdog', 'platformdirs'} & set(sys.modules))"
    root = Path(__file__).parents[2]
    found = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == ""
