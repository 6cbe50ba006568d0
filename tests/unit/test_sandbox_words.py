"""The sandbox as settings ask for it, as text, and what is told of it; no process is started."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from oi_engine.computer.denials import Denials
from oi_engine.computer.runtime import Text
from oi_engine.computer.sandbox import Allowed, Confinement, Sandbox, limit_passed
from oi_engine.settings import Settings
from oi_engine.settings.tree import SandboxSettings


@pytest.mark.parametrize(
    ("asked", "automatic", "text"),
    [
        ({}, True, None),
        ({"auto_run": True}, True, None),
        ({"auto_run": "sandboxed"}, True, "workspace"),
        ({"auto_run": "sandboxed"}, False, None),
        ({"auto_run": "sandboxed", "sandbox": "strict"}, False, "strict"),
        ({"sandbox": "workspace"}, False, "workspace"),
        ({"sandbox": "workspace", "sandbox_limits": SandboxSettings(network=False)}, True, "workspace\nno network"),
        ({"sandbox": "strict", "sandbox_limits": SandboxSettings(network=True)}, True, "strict"),
        ({"sandbox": "container"}, False, "container"),
        ({"sandbox": "container", "auto_run": "sandboxed"}, True, "container"),
        # What is in a container has the network of the container: where code must have none, that does not do.
        ({"sandbox": "container", "sandbox_limits": SandboxSettings(network=False)}, True, "workspace\nno network"),
    ],
)
def test_what_settings_ask_for(asked: dict[str, Any], automatic: bool, text: str | None) -> None:
    sandbox = Sandbox.of(Settings(**asked), automatic=automatic)
    assert (None if sandbox is None else str(sandbox)) == text


def test_as_text_and_back(tmp_path: Path) -> None:
    allowed = Allowed(network=True).with_folder(str(tmp_path))
    for sandbox in (Sandbox("workspace", True), Sandbox("workspace", False), Sandbox("strict", False)):
        for each in (sandbox, allowed.added_to(sandbox)):
            assert Sandbox.parse(str(each)) == each
    container = Sandbox("container", True)
    assert Sandbox.parse("container") == container == allowed.added_to(container)
    assert str(allowed.added_to(Sandbox("strict", False))) == f"strict\nnetwork\n{tmp_path.resolve()}"


@pytest.mark.parametrize("text", ["", "off", "Strict", "workspace\nx", "strict\n", "workspace\n../x"])
def test_what_is_no_sandbox(text: str) -> None:
    with pytest.raises(ValueError, match=r"no sandbox|nothing that"):
        Sandbox.parse(text)


def test_the_network_is_left_out_of_the_command_in_strict_alone(tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    strict = Confinement(Sandbox("strict", False), str(tmp_path / "w")).command(["true"])
    workspace = Confinement(Sandbox("workspace", True), str(tmp_path / "w")).command(["true"])
    assert "--unshare-net" in strict
    assert "--unshare-net" not in workspace
    for needed in ("--unshare-user", "--unshare-pid", "--unshare-ipc", "--die-with-parent", "--disable-userns"):
        assert needed in strict
        assert needed in workspace


def test_variables_that_lead_outside_are_gone() -> None:
    env = {"SSH_AUTH_SOCK": "/x", "JPY_PARENT_PID": "1", "DOCKER_HOST": "x", "PATH": "/bin", "TMPDIR": "/big"}
    inside = Confinement(Sandbox("strict", False), "/").environment(env)
    assert inside["PATH"] == "/bin"
    assert inside["TMPDIR"] == "/tmp"
    assert not {"SSH_AUTH_SOCK", "JPY_PARENT_PID", "DOCKER_HOST"} & set(inside)


@pytest.mark.parametrize(
    ("output", "told"),
    [
        ("touch: cannot touch '/etc/x': Read-only file system\n", ["/etc/x"]),
        ("bash: line 1: /srv/u/.bashrc: Read-only file system\n", ["/srv/u/.bashrc"]),
        ("OSError: [Errno 30] Read-only file system: '/etc/y'\n", ["/etc/y"]),
        ("PermissionError: [Errno 13] Permission denied: '/srv/.ssh/id'\n", ["/srv/.ssh/id"]),
        ("error: could not lock config file /w/.git/config: Read-only file system\n", ["/w/.git/config"]),
        ("cat: /tmp/x: Permission denied\n", []),
        ("cat: /w/x: Permission denied\n", []),
        ("/etc/x is fine\n", []),
        ("OSError: [Errno 101] Network is unreachable\n", ["network"]),
        ("curl: (6) Could not resolve host: example.org\n", ["network"]),
    ],
)
def test_what_was_stopped_is_told_from_the_output(output: str, told: list[str]) -> None:
    denials = Denials(Sandbox("strict", False), "/w")
    for piece in output.partition(":"):
        denials.take(Text(piece))
    denied = denials.told(failed=True)
    assert (denied is not None) == bool(told)
    if denied is not None:
        assert denied.network == ("network" in told)
        assert all(each in denied.text for each in told)


def test_of_a_program_that_went_on_what_is_read_only_alone_is_told() -> None:
    denials = Denials(Sandbox("strict", False), "/w")
    denials.take(Text("bash: /etc/x: Read-only file system\ncat: /srv/x: Permission denied\ngetaddrinfo\n"))
    denied = denials.told(failed=False)
    assert denied is not None
    assert "/etc/x" in denied.text
    assert "/srv/x" not in denied.text
    assert not denied.network


def test_what_may_be_allowed_is_offered_by_name() -> None:
    usr = os.path.realpath("/usr")
    denials = Denials(Sandbox("strict", False), "/w")
    denials.take(Text(f"sh: {usr}/x: Read-only file system\nsh: /\x1b[31mnowhere: Read-only file system\n"))
    denied = denials.told(failed=True)
    assert denied is not None
    assert denied.text.startswith(
        f"The sandbox seems to have kept it from {usr}/x; the sandbox seems to have kept it from /nowhere. "
    )
    assert f"To allow it for this session: `%sandbox allow {usr}` (the command" in denied.text


def test_what_was_stopped_may_be_allowed_where_nothing_speaks_against_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path.resolve() / "home"
    (home / ".ssh").mkdir(parents=True)
    (home / "there").touch()
    (home / "work" / ".git").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))

    def allowable(*paths: object) -> tuple[str, ...]:
        denials = Denials(Sandbox("strict", False), str(home / "work"))
        denials.take(Text("".join(f"bash: {path}: Permission denied\n" for path in paths)))
        denied = denials.told(failed=True)
        assert denied is not None
        return denied.paths

    usr = os.path.realpath("/usr")
    assert allowable(f"{usr}/x", f"{usr}/y", "/usr") == (usr,)
    assert allowable("/x", "/nowhere/x", f"{usr}/x") == (usr,)
    assert allowable("/nowhere/x", "/y") == (), "all of the system, or nothing that is there"
    monkeypatch.setattr("oi_engine.computer.denials._SCRATCH", ())
    assert allowable(home / "there") == (str(home / "there"),)
    assert allowable(home / "new") == (), "all of the home folder"
    assert allowable(home / ".ssh" / "key", home / ".ssh") == (), "keys"
    assert allowable(home / "work" / ".git" / "config") == (), "what others run"


def test_the_network_may_be_allowed() -> None:
    denials = Denials(Sandbox("strict", False), "/w")
    denials.take(Text("Network is unreachable"))
    denied = denials.told(failed=True)
    assert denied is not None
    assert (denied.paths, denied.network) == ((), True)
    assert "`%sandbox allow network`" in denied.text


def test_with_the_network_a_failure_of_it_is_not_the_sandboxes() -> None:
    denials = Denials(Sandbox("workspace", True), "/w")
    denials.take(Text("Network is unreachable"))
    assert denials.told(failed=True) is None


def test_of_a_container_it_is_told_where_it_can_be_widened() -> None:
    denials = Denials(Sandbox("container", True), "/w")
    denials.take(Text("bash: /etc/x: Permission denied\nNetwork is unreachable"))
    denied = denials.told(failed=True)
    assert denied is not None
    assert denied.text.startswith("The container seems to have kept it from /etc/x. ")
    assert "%sandbox" not in denied.text
    assert (denied.paths, denied.network) == ((), False)


def test_a_limit_in_words() -> None:
    confinement = Confinement(Sandbox("strict", False), "/", memory=1024, processes=64)
    assert limit_passed("memory", confinement).startswith("more than 1,024 MB")
    assert limit_passed("processes", confinement).startswith("more than 64 processes")
