"""The policy behind the gate: who may loosen it, what it says, and what is kept."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from oi_engine.approval import Cell, Gate, Judgement
from oi_engine.errors import GrantError, OiError
from oi_engine.safety.approvals import KeptApprovals
from oi_engine.safety.policy import Policy, changes, rule_problems
from oi_engine.session.session import Session
from oi_engine.settings import Layer, Settings, resolve
from oi_engine.settings.tree import PolicySettings
from tests.fakes import scripted
from tests.fakes.scripted import ScriptedModel, TinyRuntime, say
from tests.unit.session_rig import Rig

LS = Cell("s-1", "shell", "ls", "/tmp")


def gate(kept: KeptApprovals | None = None, **settings: Any) -> Gate:
    return Gate(Policy(lambda: Settings(**settings)), kept)


def runs(gate: Gate, cell: Cell) -> bool:
    return gate.allowed(gate.propose(cell))


def on_the_path(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a program, in a folder of its own that comes first on the path."""
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)


def test_by_default_everything_is_asked_about() -> None:
    assert not runs(gate(), LS)
    assert gate().propose(LS).findings == ()


@pytest.mark.parametrize("value", ["false", "true", 1, None, "off", ("sandboxed",)])
def test_an_auto_run_that_is_no_value_of_it_means_ask(value: object) -> None:
    assert not runs(gate(auto_run=value), LS)


def test_where_no_code_may_run_no_grant_is_made_whatever_else_is_set() -> None:
    shut = gate(run_code=False, auto_run=True)
    proposal = shut.propose(LS)
    assert not shut.allowed(proposal)
    with pytest.raises(GrantError, match="run_code"):
        shut.own(LS)
    with pytest.raises(GrantError, match="run_code"):
        shut.approve(proposal.id, LS)
    assert shut.withdraw(proposal.id) == proposal


def test_auto_run_true_runs() -> None:
    assert runs(gate(auto_run=True), LS)
    assert runs(gate(auto_run=True), Cell("s-1", "python", "1", "/"))


def test_auto_run_sandboxed_runs_in_a_sandbox_alone_and_says_so() -> None:
    sandboxed = gate(auto_run="sandboxed")
    assert runs(sandboxed, Cell("s-1", "python", "1", "/", "workspace"))
    assert not runs(sandboxed, Cell("s-1", "python", "1", "/"))
    (said,) = sandboxed.propose(LS).findings
    assert "outside of a sandbox" in said


def test_a_rule_allows_shell_and_no_other_language() -> None:
    allowing = gate(policy=PolicySettings(allow=("ls *",)))
    assert runs(allowing, LS)
    assert not runs(allowing, Cell("s-1", "shell", "ls; rm x", "/"))
    for language in ("python", "javascript", "r", "ruby", "bash", "Shell", ""):
        assert not runs(allowing, Cell("s-1", language, "ls", "/"))


@pytest.mark.parametrize("auto_run", [True, "sandboxed"])
async def test_deny_wins_over_everything_and_says_so(auto_run: object, tmp_path: Path) -> None:
    kept = KeptApprovals(tmp_path / "a.json")
    denying = gate(kept, auto_run=auto_run, policy=PolicySettings(allow=("ls",), deny=("ls",)))
    cell = Cell("s-1", "shell", "ls", "/", "strict")
    await denying.remember(denying.approve(denying.propose(cell).id, cell), "session")
    await denying.remember(denying.approve(denying.propose(cell).id, cell), "here")
    proposal = denying.propose(cell)
    assert not denying.allowed(proposal)
    assert proposal.findings == ("Your rule `policy.deny: ls` has this asked about.",)


async def test_what_lets_code_run_unasked_is_said_unless_everything_may(tmp_path: Path) -> None:
    cell = Cell("s-1", "python", "1", "/")
    asking = gate(KeptApprovals(tmp_path / "a.json"))
    assert asking.judge(asking.propose(cell)) == Judgement("ask")
    await asking.remember(asking.approve(asking.propose(cell).id, cell), "here")
    assert "always here" in asking.judge(asking.propose(cell)).why
    await asking.remember(asking.approve(asking.propose(cell).id, cell), "session")
    assert "in this session" in asking.judge(asking.propose(cell)).why
    allowing = gate(policy=PolicySettings(allow=("ls *",)))
    assert "`policy.allow: ls *`" in allowing.judge(allowing.propose(LS)).why
    everything = gate(auto_run=True)
    assert everything.judge(everything.propose(LS)) == Judgement("run")


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("ls; rm x", ["Your rule `policy.allow: ls *` is for one plain command, and this is not one."]),
        ("cat x | ls a", ["Your rule `policy.allow: ls *` is for one plain command, and this is not one."]),
        ("rm x; rm y", []),
        ("rm x", []),
        ("ls -l", []),
    ],
)
def test_a_rule_that_would_hold_for_a_part_says_why_it_does_not(code: str, said: list[str]) -> None:
    allowing = gate(policy=PolicySettings(allow=("ls *",)))
    assert list(allowing.propose(Cell("s-1", "shell", code, "/")).findings) == said


def test_after_an_alias_no_rule_holds_until_the_shell_is_fresh() -> None:
    policy = Policy(lambda: Settings(policy=PolicySettings(allow=("ls",))))
    gate = Gate(policy)
    assert runs(gate, LS)
    gate.redeem(gate.own(Cell("s-1", "shell", "alias ls='rm -rf x'", "/")))
    assert not runs(gate, LS)
    (said,) = gate.propose(LS).findings
    assert "restart" in said
    policy.fresh("python")
    assert not runs(gate, LS)
    policy.fresh("shell")
    assert runs(gate, LS)


def test_a_program_of_the_workspace_is_asked_about(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on_the_path(tmp_path / "bin" / "tool", monkeypatch)
    allowing = gate(policy=PolicySettings(allow=("tool",)))
    assert not runs(allowing, Cell("s-1", "shell", "tool", str(tmp_path)))
    elsewhere = str(tmp_path / "elsewhere")
    assert runs(allowing, Cell("s-1", "shell", "tool", elsewhere))
    monkeypatch.setenv("PATH", "bin", prepend=os.pathsep)
    monkeypatch.chdir(tmp_path)
    assert not runs(allowing, Cell("s-1", "shell", "tool", elsewhere))


def test_nor_is_a_shell_of_the_workspace_started_unasked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on_the_path(tmp_path / "bin" / "bash", monkeypatch)
    allowing = gate(policy=PolicySettings(allow=("ls",)))
    assert not runs(allowing, Cell("s-1", "shell", "ls", str(tmp_path)))
    assert runs(allowing, Cell("s-1", "shell", "ls", str(tmp_path / "elsewhere")))


LOOSE = {
    "auto_run": True,
    "policy": {"allow": ["rm *"], "deny": []},
    "policy.allow": ["rm *"],
    "policy.deny": [],
    "sandbox": "off",
    "sandbox_limits": {"network": True, "memory": None, "processes": None, "seconds": None},
}


def test_a_workspace_cannot_loosen_the_policy() -> None:
    own = {
        "auto_run": "sandboxed",
        "sandbox": "workspace",
        "policy": {"deny": ["rm"]},
        "sandbox_limits": {"network": False, "memory": 512, "processes": 64, "seconds": 5},
    }
    before = resolve([Layer("default profile", own)]).settings
    resolved = resolve([Layer("default profile", own), Layer("workspace", LOOSE, "w")])
    assert resolved.settings == before
    assert len(resolved.problems) >= 8
    assert changes(before, resolved.settings) == ""


def test_a_workspace_can_tighten_it() -> None:
    own = Layer("session", {"auto_run": True})
    strict = {
        "auto_run": "sandboxed",
        "sandbox": "strict",
        "sandbox_limits.memory": 512,
        "sandbox_limits.network": False,
    }
    resolved = resolve([own, Layer("workspace", strict)]).settings
    assert (resolved.auto_run, resolved.sandbox) == ("sandboxed", "strict")
    assert (resolved.sandbox_limits.memory, resolved.sandbox_limits.network) == (512, False)
    assert resolve([own, Layer("workspace", {"auto_run": False})]).settings.auto_run is False


@pytest.mark.parametrize("value", ["yes", "Sandboxed", 1, None, [], {"a": 1}])
def test_an_unreadable_value_is_the_strictest(value: object) -> None:
    layer = Layer("session", {"auto_run": value, "policy.deny": value, "policy.allow": value, "sandbox": value})
    found = resolve([layer]).settings
    assert (found.auto_run, found.sandbox) == (False, "strict")
    if value != []:
        assert (found.policy.allow, found.policy.deny) == ((), ("*",))


def test_safe_mode_turns_sandboxed_off_too() -> None:
    assert resolve([Layer("session", {"auto_run": "sandboxed", "safe_mode": "ask"})]).settings.auto_run is False


def test_a_rule_without_effect_is_said() -> None:
    (problem,) = rule_problems(Settings(policy=PolicySettings(allow=("ls", "sudo *"))))
    assert problem == (
        "policy.allow: 'sudo *' allows nothing: sudo runs what its arguments say, so it is always asked about."
    )


# --- always here ----------------------------------------------------------------------------------------------------


async def test_always_here_holds_in_another_session_for_this_text_and_place_alone(tmp_path: Path) -> None:
    kept = KeptApprovals(tmp_path / "data" / "approvals.json")
    place = tmp_path / "w"
    place.mkdir()
    (tmp_path / "link").symlink_to(place)
    cell = Cell("s-1", "python", "print(1)", str(place), "workspace")
    first = gate(kept)
    await first.remember(first.approve(first.propose(cell).id, cell), "here")
    assert os.stat(kept.path).st_mode & 0o777 == 0o600
    later = gate(KeptApprovals(kept.path))
    assert runs(later, Cell("s-2", "python", "print(1)", str(place), "workspace"))
    assert runs(later, Cell("s-2", "python", "print(1)", str(tmp_path / "link"), "workspace"))
    assert not runs(later, Cell("s-2", "python", "print(1) ", str(place), "workspace"))
    assert not runs(later, Cell("s-2", "python", "print(1)", str(tmp_path), "workspace"))
    assert not runs(later, Cell("s-2", "python", "print(1)", str(place), "off"))
    assert not runs(later, Cell("s-2", "shell", "print(1)", str(place), "workspace"))
    # The link is led elsewhere: another place.
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to(tmp_path)
    assert not runs(later, Cell("s-2", "python", "print(1)", str(tmp_path / "link"), "workspace"))


def test_one_is_listed_and_revoked(tmp_path: Path) -> None:
    kept = KeptApprovals(tmp_path / "a.json")
    for code in ("one", "key = 'sk-ant-api03-" + "a1B2c3D4" * 6 + "'"):
        kept.keep(Cell("s", "python", code, "/"))
    kept.keep(Cell("s", "python", "one", "/"))
    second, first = kept.all()
    assert (first.begins, first.folder, first.language) == ("one", "/", "python")
    assert "sk-ant" not in kept.path.read_text()
    assert kept.revoke(first.id) == first
    assert kept.all() == (second,)
    assert not kept.holds(Cell("s", "python", "one", "/"))
    with pytest.raises(OiError, match="No approval"):
        kept.revoke(first.id)


RUN_FILES = [
    *("python build.py", "bash x.sh", "node x.js", "make", "./x.sh", "sub/x", ". x.sh", "source x.sh", "npm test"),
    *("ls; python3 build.py", "cd sub && make all", "echo $(python x.py)", "for f in *.py; do python $f; done"),
    *("cat x | bash", "env python x.py", "time make", "exec ./x", "f() { make; }; f", "PATH=. ls", "$PYTHON x.py"),
    *("'python' x.py", "/usr/bin/python3 x.py", "python <<< x", "xargs -n1 sh", "~/bin/x", "if make; then ls; fi"),
    *("python x.py &", "! make", "A=1 make", "eval make", "command make", "\\make", "'ma'ke", "x=(1", "<(make)"),
]
RUN_NONE = [
    "ls -l",
    "echo $HOME",
    "cat a | sort > b",
    "[ -f x ] && rm x",
    "set -e; cd sub; ls *.py",
    "git status",
    "/bin/ls",
]


@pytest.mark.parametrize("code", RUN_FILES)
def test_shell_code_that_runs_files_is_not_kept(tmp_path: Path, code: str) -> None:
    with pytest.raises(OiError, match=r"not kept as approved.*Approve it always in this session"):
        KeptApprovals(tmp_path / "a.json").keep(Cell("s", "shell", code, str(tmp_path)))


@pytest.mark.parametrize("code", RUN_NONE)
def test_other_shell_code_is(tmp_path: Path, code: str) -> None:
    kept, cell = KeptApprovals(tmp_path / "a.json"), Cell("s", "shell", code, str(tmp_path))
    kept.keep(cell)
    assert kept.holds(cell)


@pytest.mark.parametrize(
    ("code", "is_kept"),
    [
        ("print(1)", True),
        ("import matplotlib.pyplot as plt\n%matplotlib inline\nplt.plot(x)", True),
        ("%time f(x)", True),
        ("%%timeit\nf(x)", True),
        ("!python build.py", False),
        ("x = !make", False),
        ("if x:\n    !make", False),
        ("%run build.py", False),
        ("%%bash\nmake", False),
        ("%time !make", False),
        ("%time %run x", False),
        ("%sx make", False),
    ],
)
def test_a_cell_of_python_is_kept_without_what_ipython_runs(tmp_path: Path, code: str, is_kept: bool) -> None:
    kept, cell = KeptApprovals(tmp_path / "a.json"), Cell("s", "python", code, str(tmp_path))
    if is_kept:
        kept.keep(cell)
    else:
        with pytest.raises(OiError, match="not kept"):
            kept.keep(cell)
    assert kept.holds(cell) == is_kept


def test_a_program_of_the_workspace_is_such_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on_the_path(tmp_path / "bin" / "tool", monkeypatch)
    kept = KeptApprovals(tmp_path / "a.json")
    kept.keep(Cell("s", "shell", "tool", str(tmp_path / "elsewhere")))
    with pytest.raises(OiError, match="tool runs"):
        kept.keep(Cell("s", "shell", "tool", str(tmp_path)))


def test_one_that_was_kept_before_holds_no_longer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, cell = KeptApprovals(tmp_path / "a.json"), Cell("s", "shell", "python build.py", str(tmp_path))
    with monkeypatch.context() as before:
        before.setattr("oi_engine.safety.approvals.file_runner", lambda cell: "")
        kept.keep(cell)
        assert kept.holds(cell)
    assert len(kept.all()) == 1
    assert not kept.holds(cell)


@pytest.mark.parametrize("content", ["", "[]", "{", '{"approvals": 3}', '{"approvals": [{}]}', "[" * 100_000, "\udcff"])
def test_a_damaged_file_approves_nothing(tmp_path: Path, content: str) -> None:
    kept = KeptApprovals(tmp_path / "a.json")
    kept.path.write_bytes(content.encode("utf-8", "surrogateescape"))
    kept.path.chmod(0o600)
    assert not kept.holds(LS)


def test_a_file_that_others_may_write_approves_nothing(tmp_path: Path) -> None:
    kept = KeptApprovals(tmp_path / "a.json")
    kept.keep(LS)
    assert kept.holds(LS)
    kept.path.chmod(0o666)
    assert not kept.holds(LS)


def test_an_entry_is_bound_by_its_hash_and_not_by_what_it_says(tmp_path: Path) -> None:
    kept = KeptApprovals(tmp_path / "a.json")
    kept.keep(LS)
    content = json.loads(kept.path.read_text())
    content["approvals"][0]["begins"] = "rm x"
    kept.path.write_text(json.dumps(content))
    assert not kept.holds(Cell("s", "shell", "rm x", "/"))


async def test_where_nothing_can_be_kept_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    stuck = gate(KeptApprovals(tmp_path / "file" / "a.json"))
    grant = stuck.approve(stuck.propose(LS).id, LS)
    with pytest.raises(OiError, match="cannot be kept"):
        await stuck.remember(grant, "here")
    assert not stuck.allowed(stuck.propose(LS))
    assert stuck.redeem(grant) == LS
    without = gate()
    with pytest.raises(GrantError):
        await without.remember(without.approve(without.propose(LS).id, LS), "here")


class SlowDisk:
    """Approvals in a place that takes its time, and then fails or not."""

    def __init__(self, problem: OiError | None) -> None:
        self.asked, self.done = threading.Event(), threading.Event()
        self._problem = problem

    def holds(self, cell: Cell) -> bool:
        return False

    def keep(self, cell: Cell) -> None:
        self.asked.set()
        assert self.done.wait(60)
        if self._problem is not None:
            raise self._problem


@pytest.mark.parametrize("problem", [None, OiError("The disk is full.")])
async def test_keeping_an_approval_holds_up_its_own_code_alone(problem: OiError | None) -> None:
    disk, other = SlowDisk(problem), Rig(scripted.code("print 2"), say("ok"), auto_run=True)
    ran: list[str] = []
    model = ScriptedModel([scripted.code("print 1"), say("ok")])
    session = Session(model, lambda language, cwd: TinyRuntime(ran), cwd="/", approvals=disk)
    waits = asyncio.Event()
    session.on_state(lambda snapshot: waits.set() if snapshot.proposal else None)
    session.send("go")
    await asyncio.wait_for(waits.wait(), 60)
    assert session.snapshot.proposal is not None
    session.approve(session.snapshot.proposal.id, always="here")
    await asyncio.to_thread(disk.asked.wait, 60)
    await other.ask("the loop is free")
    assert (ran, other.ran) == ([], ["print 2"])
    disk.done.set()
    await session.idle()
    assert ran == ["print 1"]
    said = [message.text for message in session.messages if message.recipient == "user"]
    assert said == ([] if problem is None else [str(problem)])
