"""Java 11 or later, through the API of its jshell: a JDK is needed, since a mere runtime has none."""

from __future__ import annotations

import shutil

from oi_engine.computer.driver import DRIVERS, Driver

_UTF8 = ("file.encoding", "stdout.encoding", "stderr.encoding", "sun.stdout.encoding", "sun.stderr.encoding")


class _JavaDriver(Driver):
    def find(self, path: str | None = None) -> str | None:
        """The program ``java`` where there is a JDK; macOS has a program of that name that is no Java."""
        return super().find(path) if shutil.which("jshell", path=path) else None


JAVA = _JavaDriver(
    language="java",
    programs=("java",),
    # Most cells are short: little is gained by compiling them well, and much by starting soon.
    arguments=(
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-Xshare:auto",
        *(f"-D{name}=UTF-8" for name in _UTF8),
        str(DRIVERS / "Driver.java"),
    ),
    remedy="Install a JDK (not a JRE), 11 or later: `apt-get install default-jdk-headless`, "
    "`dnf install java-latest-openjdk-devel`, `brew install openjdk`, or from adoptium.net.",
    suffix=".java",
    interrupted_by_request=True,
    reports_input=True,
)
