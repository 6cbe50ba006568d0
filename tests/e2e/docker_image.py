"""The image of docs/docker/Dockerfile with what is on this machine: no registry is asked for anything.

The base image holds this Python, the distributions of locks/run.txt as they are installed here, a shell and a few
programs, and the libraries that all of these are linked with.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
_PREFIX = Path(sys.base_prefix)
_PYTHON = f"python{sys.version_info.major}.{sys.version_info.minor}"
_PROGRAMS = ("sh", "bash", "cat", "chmod", "env", "id", "ls", "mkdir", "rm", "sleep", "stty", "touch")
_PATH = f"{_PREFIX}/bin:/usr/bin:/bin"
_USERS = b"root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/bin/false\n"

Files = Iterable[tuple[str, Path]]
"""Names in an archive, and the files here; links are followed."""


def why_no_docker() -> str:
    """Why containers cannot be run here; empty where they can."""
    if shutil.which("docker") is None:
        return "docker is not installed"
    asked = subprocess.run(["docker", "info", "--format", "{{.ServerVersion}}"], check=False, capture_output=True)
    if asked.returncode or not asked.stdout.strip():
        return "no Docker daemon answers"
    return "" if sys.platform == "linux" else "the image is made of this machine's Linux programs"


def build(tag: str) -> None:
    """Build the image, and the base image ``TAG-base`` before it."""
    base = f"{tag}-base"
    _feed(["docker", "import", "--change", f"ENV PATH={_PATH}", "-", base], _base_files(), furnished=True)
    arguments = ["--build-arg", f"BASE={base}", "--build-arg", "PACKAGES=", "--network", "none"]
    context = ((str(path.relative_to(CHECKOUT)), path) for path in _sources())
    _feed(["docker", "build", *arguments, "--tag", tag, "--file", "docs/docker/Dockerfile", "-"], context)


def _feed(command: list[str], files: Files, *, furnished: bool = False) -> None:
    """Run a command that reads a tar archive; ``furnished``: with the folders that any system has."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert process.stdin is not None
    try:
        with tarfile.open(fileobj=process.stdin, mode="w|", dereference=True) as archive:
            if furnished:
                _furnish(archive)
            _add(archive, files)
        output, _ = process.communicate(timeout=300)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0, output.decode(errors="replace")


def _furnish(archive: tarfile.TarFile) -> None:
    for name in ("bin", "lib", "lib64"):
        if os.path.islink(f"/{name}"):
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, os.readlink(f"/{name}")
            archive.addfile(link)
    scratch = tarfile.TarInfo("tmp")
    scratch.type, scratch.mode = tarfile.DIRTYPE, 0o1777
    archive.addfile(scratch)
    users = tarfile.TarInfo("etc/passwd")
    users.size = len(_USERS)
    archive.addfile(users, io.BytesIO(_USERS))


def _add(archive: tarfile.TarFile, files: Files) -> None:
    made: set[Path] = set()
    for name, path in files:
        wanted = Path(name.lstrip("/"))
        for folder in reversed(wanted.parents[:-1]):
            if folder not in made:
                made.add(folder)
                member = tarfile.TarInfo(str(folder))
                member.type, member.mode = tarfile.DIRTYPE, 0o755
                archive.addfile(member)
        archive.add(path, str(wanted), recursive=False, filter=_of_root)


def _of_root(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.mode |= 0o444
    return member


def _sources() -> Iterator[Path]:
    yield from (CHECKOUT / "docs/docker/Dockerfile", CHECKOUT / "locks/run.txt")
    for package in ("oi_engine", "oi_lsp"):
        yield from _files(CHECKOUT / package)


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)


def _base_files() -> Files:
    """What the base image holds: each file once, at a path without links."""
    library = _PREFIX / "lib" / _PYTHON
    python = _PREFIX / "bin" / _PYTHON
    programs = [Path(found) for name in _PROGRAMS if (found := shutil.which(name, path="/usr/bin:/bin"))]
    own = [path for path in _files(library) if not {"site-packages", "test"} & set(path.relative_to(library).parts)]
    installed = {library / "site-packages" / name: path for name, path in _installed()}
    linked = [python, *programs, *(path for path in (*own, *installed.values()) if ".so" in path.suffixes)]
    here = {_without_links(path): path for path in (python, *programs, *own, *_libraries(linked))}
    named = {**here, **installed, _PREFIX / "bin" / "python": python}
    return ((str(name), path) for name, path in named.items())


def _without_links(path: Path) -> Path:
    return Path(os.path.realpath(path.parent)) / path.name


def _installed() -> Iterator[tuple[str, Path]]:
    """The files of pip and of the locked distributions, by their names in site-packages."""
    locked = re.findall(r"^([A-Za-z0-9][\w.-]*)==", (CHECKOUT / "locks/run.txt").read_text(), re.MULTILINE)
    for name in (*locked, "pip"):
        try:
            found = distribution(name)
        except PackageNotFoundError:
            continue  # for another system
        for file in found.files or ():
            path = Path(str(found.locate_file(file)))
            if ".." not in file.parts and "__pycache__" not in file.parts and path.is_file():
                yield str(file), path


def _libraries(linked: list[Path]) -> set[Path]:
    """What these are linked with, and the loader."""
    told = subprocess.run(["ldd", *map(str, linked)], check=False, capture_output=True, text=True).stdout
    return {Path(path) for path in re.findall(r"(?:=> |^\t)(/\S+) \(0x", told, re.MULTILINE)}
