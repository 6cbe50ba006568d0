"""Whatever a run does to a tree, taking it back gives the tree that was there, and taking that back gives the run's."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from oi_engine.changes.diff import bytes_of, text_of, without
from oi_engine.changes.revert import revert
from oi_engine.changes.store import ChangeSet
from oi_engine.changes.workspace import Workspace
from oi_engine.edits.hunks import hunks
from oi_engine.errors import RevertRefused
from tests.unit.changes.trees import Node, Tree, edit, read, write

NAMES = st.sampled_from([b"a", b"b", b"c.txt", b"\xff\xfe", b"sp ace", b"new\nline", b"x\x1b[31m"])
CONTENTS = st.one_of(
    st.binary(max_size=40),
    st.lists(st.sampled_from([b"one\n", b"two\n", b"three\r\n", b"\xe9\n", b"four"]), max_size=8).map(b"".join),
)
FILES = st.tuples(st.just("file"), st.sampled_from([0o644, 0o600, 0o755, 0o444]), CONTENTS)
LINKS = st.tuples(st.just("link"), st.just(0), st.sampled_from([b"a", b"../..", b"/etc/passwd", b"\xff", b"gone"]))
FOLDERS = st.tuples(st.just("folder"), st.sampled_from([0o755, 0o700]), st.just(b""))
NODES: st.SearchStrategy[Node] = st.one_of(FILES, FILES, LINKS, FOLDERS, FOLDERS)


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    tree: Tree = {}
    folders = [b""]
    for _ in range(draw(st.integers(0, 9))):
        path = draw(st.sampled_from(folders)) + draw(NAMES)
        if path not in tree:
            tree[path] = draw(NODES)
            if tree[path][0] == "folder":
                folders.append(path + b"/")
    return tree


@st.composite
def edited(draw: st.DrawFn) -> tuple[Tree, Tree]:
    """A tree, and what became of it: some of it as it was, some of another tree."""
    before, other = draw(trees()), draw(trees())
    kept = {path: node for path, node in before.items() if draw(st.integers(0, 3))}
    after: Tree = {}
    for path, node in sorted({**kept, **other}.items()):
        parent = path.rpartition(b"/")[0]
        if not parent or after.get(parent, ("",))[0] == "folder":
            after[path] = node
    return before, after


@contextmanager
def workspace() -> Iterator[Workspace]:
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder) / "work"
        top.mkdir()
        made = Workspace(str(top), Path(folder) / "stores")
        try:
            yield made
        finally:
            made.close()


def recorded(made: Workspace, before: Tree, after: Tree) -> ChangeSet:
    root = Path(made.folder)
    write(root, before)
    first = made.snapshot()
    edit(root, before, after)
    assert read(root) == after
    return made.record("s", made.changes(first, made.snapshot(first)))


@settings(max_examples=150)
@given(edited())
def test_reverting_gives_the_old_tree_and_reverting_that_the_new_one(case: tuple[Tree, Tree]) -> None:
    before, after = case
    with workspace() as made:
        changes = recorded(made, before, after)
        assert {one.path for one in changes.files} == {one.path for one in made.store.set("s", changes.id).files}
        done = revert(made, changes)
        assert not done.refused
        assert read(Path(made.folder)) == before
        if before != after:
            assert done.done is not None
            again = revert(made, done.done)
            assert not again.refused
            assert read(Path(made.folder)) == after


@settings(max_examples=80)
@given(edited(), st.randoms(use_true_random=False))
def test_file_by_file_in_any_order_ends_in_the_old_tree(case: tuple[Tree, Tree], random: object) -> None:
    """A file that waits for others (a folder that is not empty yet) is refused, and goes later."""
    before, after = case
    with workspace() as made:
        changes = recorded(made, before, after)
        left = [one.path for one in changes.files]
        random.shuffle(left)  # type: ignore[attr-defined]
        while left:
            rest: list[str] = []
            for path in left:
                try:
                    revert(made, changes, path)
                except RevertRefused:
                    rest.append(path)
            assert len(rest) < len(left), rest
            left = rest
        assert read(Path(made.folder)) == before


LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "\n", "d\r\n", "é\n"]), max_size=12)


@given(LINES, LINES, st.data())
def test_hunks_one_by_one_in_any_order_give_the_old_text(
    old: Sequence[str], new: Sequence[str], data: st.DataObject
) -> None:
    before, after = "".join(old), "".join(new)
    text, left = after, [hunk.id for hunk in hunks(before, after)]
    taken: list[str] = []
    for name in data.draw(st.permutations(left)):
        try:
            text = without(before, after, text, [name])
        except RevertRefused:
            continue  # lines that are all alike: it is not told apart from what was taken out before
        taken.append(name)
        assert text == without(before, after, after, taken)
    if len(taken) == len(left):
        assert text == before


@given(st.binary(max_size=60))
def test_a_text_is_the_bytes_that_it_was_read_from(data: bytes) -> None:
    text = text_of(data)
    assert (text is None) == (b"\0" in data)
    assert text is None or bytes_of(text) == data


@given(LINES, LINES, LINES)
def test_what_was_written_since_is_kept_or_nothing_is_done(old: list[str], new: list[str], later: list[str]) -> None:
    before, after = "".join(old), "".join(new)
    mine = "MINE\n"
    current = "".join([*new, *later, mine])
    try:
        text = without(before, after, current)
    except RevertRefused:
        return
    assert text.endswith(mine)
