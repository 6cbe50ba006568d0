"""Rules for shell code, and every way that is known of getting past such rules."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oi_engine.safety.rules import allow_problem, allowing, denying
from oi_engine.safety.shell_words import RUNS_OTHERS, all_commands, plain_command, steers_the_shell

RULES = ("ls", "ls *", "ls -l *", "echo *", "git status", "git log --oneline *", "cat 'a b'")


@pytest.mark.parametrize(
    ("code", "rule"),
    [
        ("ls", "ls"),
        ("  ls\n", "ls"),
        ("ls src tests", "ls *"),
        ("ls -l 'a b' \"c d\"", "ls -l *"),
        ("git status", "git status"),
        ("git log --oneline main", "git log --oneline *"),
        ("cat 'a b'", "cat 'a b'"),
        ('cat "a b"', "cat 'a b'"),
        ("echo a=b 5 x:y +z @w %1", "echo *"),
    ],
)
def test_what_a_rule_allows(code: str, rule: str) -> None:
    assert allowing(RULES, code) == rule


TRICKS = [
    "echo x && rm -rf /",
    "echo x || rm y",
    "echo x; rm y",
    "echo x;",
    "echo x & rm y",
    "echo x &",
    "echo x | sh",
    "echo x |& sh",
    "echo x\nrm y",
    "echo x\rrm y",
    "echo x\x0brm y",
    "echo x\x00rm y",
    "echo x\u2028rm y",
    "echo x\u0085rm y",
    "echo x\u00a0y",
    "echo \u202ex",
    "echo \\\nx",
    "ec\\\nho x",
    "echo x \\\n&& rm y",
    "echo $(rm y)",
    "echo `rm y`",
    'echo "$(rm y)"',
    'echo "`rm y`"',
    "echo <(rm y)",
    "echo >(rm y)",
    "echo =(rm y)",
    "echo ${x@P}",
    'echo "${x@P}"',
    "echo $x",
    "echo $((PATH=1))",
    "echo $[1]",
    "echo ${x:=y}",
    "echo > f",
    "echo x 2>&1",
    "echo x >| f",
    "echo x &> f",
    "echo x >> ~/.bashrc",
    "cat <<E\nx\nE",
    "cat <<< x",
    "A=1 echo x",
    "PATH=. ls",
    "A=1",
    "echo() { rm y; }",
    "echo() { rm y; }; echo x",
    "function ls { rm y; }",
    "alias ls=rm",
    "\\ls",
    "l\\s",
    "'ls'",
    '"ls"',
    "l's'",
    "ls ''x",
    "ls -l'a'",
    "ls a\\ b",
    "ls $'\\x41'",
    'ls $"x"',
    "ls 'a''b'",
    "ls *",
    "ls ?",
    "ls [a-z]",
    "ls {a,b}",
    "ls ~",
    "ls ~root",
    "ls =ls",
    "ls !!",
    "ls !$",
    'ls "!x"',
    "ls # x",
    "# x\nls",
    "ls ^x",
    "! ls",
    "(ls)",
    "{ ls; }",
    "[[ -f x ]]",
    "if ls; then rm y; fi",
    "time ls",
    "coproc ls",
    "command ls",
    "builtin echo x",
    "exec ls",
    "eval ls",
    "env ls",
    "sudo ls",
    "xargs ls",
    "sh -c ls",
    "bash -c ls",
    "nohup ls",
    "timeout 5 ls",
    "nice ls",
    "find . -exec rm {} +",
    "busybox ls",
    "/bin/ls",
    "./ls",
    "../ls",
    "ls -la",
    "ls -l --color",
    "ls x -R",
    "ls --",
    "git status --short",
    "git  -c core.pager=x status",
    "git log --oneline --output=x",
    "git log",
    "gitstatus",
    "LS",
    "",
    " ",
    "\n",
    "'",
    '"',
    "ls '",
    'ls "a',
    "ls \ud800",
    "echo " + "x" * 30_000,
]


@pytest.mark.parametrize("code", TRICKS)
def test_what_no_rule_allows(code: str) -> None:
    assert allowing(RULES, code) is None


@pytest.mark.parametrize(
    "rule", ["sudo *", "env *", "sh -c *", "xargs rm", "python *", "find *", "*", "", "/bin/ls", "'"]
)
def test_rules_that_allow_nothing(rule: str) -> None:
    assert allow_problem(rule)
    assert allowing([rule], "sudo ls") is None
    assert allowing([rule], rule) is None


def test_a_star_in_the_middle_is_no_wildcard() -> None:
    assert allow_problem("git * status")
    assert allowing(["git * status"], "git push status") is None


@pytest.mark.parametrize(
    "code",
    [
        "rm x",
        "/bin/rm x",
        "../../bin/rm x",
        "ls && rm x",
        "ls\nrm x",
        "echo $(rm x)",
        "echo `rm x`",
        "cat <(rm x)",
        "if true; then rm x; fi",
        "for a in b; do rm $a; done",
        "f() { rm x; }",
        "A=1 rm x",
        "rm x > /dev/null",
        "ls | rm x",
        "(cd /; rm x)",
        '"rm" x',
        "! rm x",
    ],
)
def test_a_denied_program_is_found_wherever_it_stands(code: str) -> None:
    denied = denying(["git push", "rm"], code)
    assert denied is not None
    assert denied.rule == "rm"


@pytest.mark.parametrize(
    "code",
    [
        "r\\m x",
        "r''m x",
        "$x y",
        "eval 'rm x'",
        "sh -c 'rm x'",
        "env rm x",
        "xargs rm",
        ". ./file",
        "alias ls=rm",
        "ls '",
        "${x@P}",
        "git $x",
        "python -c 'x'",
        "\u0440m x",
        "x" * 30_000,
    ],
)
def test_with_a_rule_that_denies_what_is_unclear_is_asked_about(code: str) -> None:
    denied = denying(["rm"], code)
    assert denied is not None
    assert "cannot be fully told" in str(denied)


def test_what_is_clear_and_not_denied() -> None:
    assert denying(["rm", "git push"], "git status && ls -l | wc") is None
    assert denying(["git push"], "git push origin") is not None
    assert denying((), "rm x") is None
    assert denying(["*"], "ls") is not None
    assert denying(["'"], "ls") is not None


@pytest.mark.parametrize(
    "code", ["ls", "cd /tmp", "x=3", "for f in a b; do echo $f; done", "ls | wc -l > x", "echo 'a'"]
)
def test_what_leaves_names_as_they_are(code: str) -> None:
    assert not steers_the_shell(code)


@pytest.mark.parametrize(
    "code",
    [
        "alias ls='rm x'",
        "\\alias ls=rm",
        "ls() { rm x; }",
        "function ls { rm x; }",
        "PATH=/tmp:$PATH",
        "export PATH=/tmp",
        "export x",
        "PATH=/tmp ls",
        "hash -p /tmp/x ls",
        "enable -n echo",
        "shopt -s expand_aliases",
        "set -x",
        "trap 'rm x' DEBUG",
        "eval x",
        ". ./x",
        "source x",
        "command . x",
        "$x",
        "printf -v PATH x",
        "read PATH",
        "unset PATH",
        "declare -n a=PATH",
        "for PATH in x; do :; done",
        "echo ${PATH:=x}",
        "(( PATH = 1 ))",
        "let PATH=1",
        "f() (",
        "path=(/tmp)",
        "aliases=(ls rm)",
        "aliases[ls]=rm",
        "functions[ls]=rm",
        "for path in /tmp; do echo; done",
        "noglob alias ls=rm",
        "time alias ls=rm",
        "repeat 1 alias ls=rm",
        "- alias ls=rm",
        "! alias ls=rm",
        "true && alias ls=rm",
        "{ alias ls=rm; }",
        "\ud800",
        "x" * 30_000,
    ],
)
def test_what_may_change_what_names_mean(code: str) -> None:
    assert steers_the_shell(code)


def test_characters_beyond_those_of_bytes_end_no_process() -> None:
    for character in range(0x80, 0x110000, 37):
        code = "{" + chr(character)
        assert not all_commands(code).certain
        assert steers_the_shell(code)
        assert plain_command(code) is None


_PIECES = st.sampled_from(
    [
        *"&|;<>()$`\\\"'*?[]{}~!#=^% \n\t",
        "ls",
        "echo",
        "x",
        "-l",
        "a=b",
        "$(",
        "&&",
        "sudo",
        "\u00a0",
        "\x00",
        "@P",
        "é",
    ]
)


@settings(max_examples=400, deadline=None)
@given(st.lists(_PIECES, max_size=12).map("".join) | st.text(max_size=60))
def test_whatever_is_called_plain_is_what_a_shell_would_read(code: str) -> None:
    words = plain_command(code)
    all_commands(code)
    steers_the_shell(code)
    denying(["rm"], code)
    if words is not None:
        assert shlex.split(code) == list(words)
        assert not set("&|;<>()$`\\*?[]{}~!#^\n\t") & set(_outside_quotes(code.strip(" \n")))
        assert all_commands(code).commands[0] == words
    rule = allowing(["ls *", "echo *"], code)
    assert rule is None or (words is not None and words[0] == rule.split()[0] not in RUNS_OTHERS)


def _outside_quotes(code: str) -> str:
    lexer = shlex.shlex(code, posix=False)
    lexer.whitespace_split = True
    lexer.commenters = ""
    return "".join(token for token in lexer if token[0] not in "'\"")
