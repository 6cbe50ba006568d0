"""R 3.5 or later.

The person's own profile and environment file are not read: a workspace may have files of those names, too, which
nobody has approved.
"""

from __future__ import annotations

from oi_engine.computer.driver import DRIVERS, Driver

R = Driver(
    language="r",
    programs=("R",),
    arguments=("--no-readline", "--no-save", "--no-restore", "--quiet"),
    remedy="Install R: `apt-get install r-base-core`, `dnf install R-core`, `brew install r`, or from r-project.org.",
    suffix=".R",
    one_interrupt_is_enough=True,
    environment={"R_PROFILE_USER": str(DRIVERS / "r.R"), "R_ENVIRON_USER": ""},
)
