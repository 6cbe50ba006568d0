"""What the gate asks before it asks the person: whether code may run without a question, and why not.

Where ``run_code`` is off nothing runs, whoever approves it. Else in this order, the first that has something to say:

1. ``policy.deny``: asked about, whatever comes after;
2. *always* for this very text, in this session or here (the gate's own);
3. ``auto_run: true``: runs; ``auto_run: sandboxed``: runs where the cell is bound to a sandbox;
4. ``policy.allow``: runs;
5. otherwise the person is asked.

The policy makes no grant: it answers the gate. It reads settings (of which a workspace can only make these stricter)
and the code, and nothing that a model, a program or a file says.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable

from attrs import define, field

from oi_engine.approval import ASK, Cell, Judgement
from oi_engine.safety.programs import lies_in
from oi_engine.safety.rules import allow_problem, allowing, denying, nearly_allowing
from oi_engine.safety.shell_words import steers_the_shell
from oi_engine.settings import Settings
from oi_engine.settings.tree import get
from oi_engine.settings.values import shown

SHELL = "shell"
SHELLS = ("bash", "zsh")


@define
class Policy:
    """The policy of one session, by the settings of the moment.

    ``no_sandbox`` says why there is no sandbox for a language, or nothing where there is one.
    """

    settings: Callable[[], Settings]
    no_sandbox: Callable[[str], str] = lambda language: ""
    _steered: bool = field(default=False, init=False)
    """Whether code has run in the shell after which a name may mean something else there."""

    def judge(self, cell: Cell, settings: Settings | None = None) -> Judgement:
        """Whether a cell may run unasked; a word for the person where it may not and they might expect it to.

        ``settings``: others than those of the moment.
        """
        settings = settings or self.settings()
        is_shell = cell.language == SHELL
        if is_shell and (denied := denying(settings.policy.deny, cell.code)):
            return Judgement("deny", str(denied))
        if settings.auto_run is True:
            return Judgement("run")
        if settings.auto_run == "sandboxed":
            if cell.sandbox != "off":
                return Judgement("run", "`auto_run` is `sandboxed`, and it runs in a sandbox.")
            why = self.no_sandbox(cell.language)
            return Judgement("ask", f"auto_run is `sandboxed`, and this would run outside of a sandbox. {why}".rstrip())
        if not is_shell:
            return ASK
        if (rule := allowing(settings.policy.allow, cell.code)) is not None:
            return self._allowed(rule, cell)
        if (rule := nearly_allowing(settings.policy.allow, cell.code)) is not None:
            return Judgement("ask", f"Your rule `policy.allow: {rule}` is for one plain command, and this is not one.")
        return ASK

    def forbids(self) -> str:
        """Why nothing may run at all; empty where code may run."""
        return "" if self.settings().run_code else "No code runs here: `run_code` is off."

    def ran(self, cell: Cell) -> None:
        """A cell is about to run."""
        if cell.language == SHELL and not self._steered:
            self._steered = steers_the_shell(cell.code)

    def fresh(self, language: str) -> None:
        """The runtime of a language has been ended."""
        if language == SHELL:
            self._steered = False

    def _allowed(self, rule: str, cell: Cell) -> Judgement:
        if self._steered:
            why = "code before it may have changed what names mean in this shell: restart it to have rules hold again"
            return Judgement("ask", f"Your rule `policy.allow: {rule}` would let this run, but {why}.")
        # The shell that would read the code counts as well: the first of its name on the PATH is started.
        for program in (cell.code.split(maxsplit=1)[0], *SHELLS):
            path = shutil.which(program)
            if path is not None and lies_in(path, cell.cwd):
                why = f"{program} is a file of the workspace ({path})"
                return Judgement("ask", f"Your rule `policy.allow: {rule}` would let this run, but {why}.")
        return Judgement("run", f"Your rule `policy.allow: {rule}` lets it run.")


GUARDS = (
    "run_code",
    "auto_run",
    "safe_mode",
    "sandbox",
    "policy.allow",
    "policy.deny",
    "sandbox_limits.network",
    "sandbox_limits.memory",
    "sandbox_limits.processes",
    "sandbox_limits.seconds",
)
"""The settings that the policy goes by."""


def changes(before: Settings, after: Settings) -> str:
    """What a change of settings means for the policy, in words; empty where it means nothing."""
    pairs = ((name, get(before, name), get(after, name)) for name in GUARDS)
    lines = [f"- `{name}`: {shown(now)}, before {shown(then)}" for name, then, now in pairs if then != now]
    if not lines:
        return ""
    return "\n".join(["What runs without asking, and where, has changed:", "", *lines, *rule_problems(after)])


def rule_problems(settings: Settings) -> list[str]:
    """A sentence for each rule that has no effect."""
    problems = ((rule, allow_problem(rule)) for rule in settings.policy.allow)
    return [f"policy.allow: {rule!r} allows nothing: {problem}." for rule, problem in problems if problem]
