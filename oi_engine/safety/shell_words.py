"""What a text of shell code says, as far as it can be known without running it.

Parsed with tree-sitter and its Bash grammar. A parser for editors goes on where a shell would not, and shells differ,
so little is taken from it: ``plain_command`` asks that the text be one command of words that mean themselves in bash,
zsh and ``sh`` alike, that nothing stands between the words, and that Python's ``shlex`` reads the same words. Whatever
does not pass is unknown, which means that it is asked about.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from attrs import frozen

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

LONGEST = 20_000
"""Characters of code that are looked at; longer code is not understood."""
_LONGEST_PLAIN = 2_000
"""Characters of one plain command."""

_TEXT = re.compile(r"[ -~]+")
"""Printable ASCII, and no line break: nothing that looks like something else."""
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")
_STAND_IN = "\x7f"
_PROGRAM = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
_WORD = re.compile(r"[A-Za-z0-9_@%+:,./-][A-Za-z0-9_@%+:,./=-]*")
"""No quote, expansion, pattern, history, comment, operator, ``~``; ``=`` not first, as zsh would expand it."""
_QUOTED = {"raw_string": re.compile(r"'[ -&(-~]*'"), "string": re.compile(r'"[ #%-\[\]-_a-~]*"')}
"""Single quotes around anything else; double quotes around what is not ``"``, ``$``, a backslash, a backtick, ``!``."""


def names(*lines: str) -> frozenset[str]:
    """The words of the lines."""
    return frozenset(" ".join(lines).split())


_WORDS = names(
    "! - . : [ [[ alias always autoload bind builtin case command complete coproc declare do done elif else",
    "emulate enable esac eval exec export fc fi for foreach function functions getopts hash if in let local",
    "mapfile nocorrect noglob read readarray readonly repeat select set setopt shopt source then time trap",
    "typeset unalias unfunction unset unsetopt until while zmodload",
)
"""Words of the grammar, and builtins that run something or change what names mean, in bash and zsh."""

RUNS_OTHERS = _WORDS | names(
    "ash at awk bash batch bun busybox bwrap chroot csh dash deno doas docker emacs env ex expect fakeroot find",
    "firejail fish flock gawk gdb ionice irb java julia ksh less lua make man mawk more nawk nc ncat nice node",
    "nodejs nohup npx nsenter numactl osascript parallel perl php pipx pkexec podman powershell psql pwsh python",
    "python2 python3 R Rscript rsync ruby run-parts runuser screen script sed setarch setpriv setsid sh socat",
    "sqlite3 ssh stdbuf strace su sudo systemd-run taskset tclsh tcsh timeout tmux toybox unshare uv uvx vi view",
    "vim watch xargs zsh",
)
"""Programs that no rule allows, since what they run is not what is seen."""

_STEERS = (_WORDS - names(": [ [[")) | names("popd printf pushd vared zparseopts zstyle wait")
"""Commands after which a name in the same shell may mean something else."""
_SPECIAL = names("aliases builtins cdpath commands fpath functions galiases manpath module_path options path saliases")
"""Variables with small letters that steer zsh."""
_DEFINES = names(
    "ERROR function_definition declaration_command unset_command arithmetic_expansion c_style_for_statement",
)
_LOCAL = re.compile(r"[a-z][a-z0-9_]*")
"""Variables of one's own: what steers a shell or a program has a name in capitals."""


@lru_cache(maxsize=64)
def plain_command(code: str) -> tuple[str, ...] | None:
    """The words of code that is one plain command, the program first; ``None`` for any other."""
    text = code.strip(" \n")
    if len(text) > _LONGEST_PLAIN or _TEXT.fullmatch(text) is None:
        return None
    root = _parse(text)
    if root is None or len(root.children) != 1 or root.children[0].type != "command":
        return None
    words: list[str] = []
    at = 0
    for part in root.children[0].children:
        node = part.children[0] if part.type == "command_name" and len(part.children) == 1 else part
        if (part.type == "command_name") != (not words) or (not words and node.type != "word"):
            return None
        word = _plain_word(node)
        if word is None or text[at : node.start_byte].strip(" "):
            return None
        at = node.end_byte
        words.append(word)
    if text[at:] or _PROGRAM.fullmatch(words[0]) is None or not _same_words(text, words):
        return None
    return tuple(words)


@frozen
class Commands:
    """The commands anywhere in a text; ``certain`` where there can be no others, and every word of them is known."""

    commands: tuple[tuple[str, ...], ...]
    certain: bool


@lru_cache(maxsize=16)
def all_commands(code: str) -> Commands:
    """Every command that is to be found in the code, however deep. Programs are without their folder."""
    root = _parse(code)
    if root is None:
        return Commands((), False)
    commands: list[tuple[str, ...]] = []
    certain = _TEXT.fullmatch(code.replace("\n", " ") or " ") is not None
    for node in _walk(root):
        if node.type in ("ERROR", "function_definition") or node.is_missing:
            certain = False
        elif node.type in ("declaration_command", "unset_command", "test_command"):
            commands.append((_text(node).split()[0],))
        elif node.type == "command":
            words = [_plain_word(part) for part in _words_of(node)]
            known = [word for word in words if word is not None]
            if len(known) < len(words) or not known:
                certain = False
            if words and words[0] is not None:
                commands.append((words[0].rpartition("/")[2], *known[1:]))
                certain = certain and commands[-1][0] not in RUNS_OTHERS - {"[", "[[", ":", "test"}
    return Commands(tuple(commands), certain)


def program_words(code: str) -> tuple[str, ...] | None:
    """The programs of all commands in the code, as they are written; ``None`` where one cannot be told."""
    root = _parse(code)
    if root is None:
        return None
    programs: list[str] = []
    for node in _walk(root):
        if node.type == "ERROR" or node.is_missing:
            return None
        if node.type == "variable_assignment" and _text(node).startswith("PATH"):
            return None
        if node.type == "command" and (words := _words_of(node)):
            name = _plain_word(words[0])
            if name is None:
                return None
            programs.append(name)
    return tuple(programs)


def steers_the_shell(code: str) -> bool:
    """Whether a shell in which this code has run may take a name for something else than before; yes where in doubt."""
    root = _parse(code)
    if root is None:
        return True
    return any(_steers(node) for node in _walk(root))


def _steers(node: Node) -> bool:
    if node.type in _DEFINES or node.is_missing:
        return True
    if node.type == "command":
        words = _words_of(node)
        name = _plain_word(words[0]) if words else None
        return name is None or name in _STEERS or "\\" in name
    if node.type in ("variable_assignment", "for_statement"):
        target = next((child for child in node.children if child.type in ("variable_name", "subscript")), None)
        return target is None or _LOCAL.fullmatch(_text(target)) is None or _text(target) in _SPECIAL
    if node.type == "expansion":
        return "=" in _text(node) or "@" in _text(node)
    return node.type in ("((", "compound_statement") and "((" in _text(node)[:2]


def _words_of(command: Node) -> list[Node]:
    """The name and the arguments of a command, without its assignments and redirections."""
    found: list[Node] = []
    for child in command.children:
        if child.type == "command_name":
            found.extend(child.children[:1])
        elif found and "redirect" not in child.type:
            found.append(child)
    return found


def _plain_word(node: Node) -> str | None:
    """The word as the program gets it, if it means itself."""
    text = _text(node)
    if node.type in ("word", "number"):
        return text if _WORD.fullmatch(text) else None
    quoted = _QUOTED.get(node.type)
    if quoted is None or quoted.fullmatch(text) is None:
        return None
    return text[1:-1]


def _same_words(text: str, words: list[str]) -> bool:
    try:
        return shlex.split(text) == words
    except ValueError:
        return False


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def _walk(node: Node) -> Iterator[Node]:
    waiting = [node]
    while waiting:
        current = waiting.pop()
        yield current
        waiting.extend(current.children)


def _parse(code: str) -> Node | None:
    """The tree, in which a stand-in, of which no word is known, is for each character that is not ASCII.

    The grammar's scanner looks characters up in C's tables for bytes: ``{`` and one of a high plane would be the end of
    this process. ``None`` for code that is too long.
    """
    if len(code) > LONGEST:
        return None
    return _parser().parse(_BEYOND_ASCII.sub(_STAND_IN, code).encode()).root_node


@cache
def _parser() -> Parser:
    # Late: a session without rules needs neither.
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))
