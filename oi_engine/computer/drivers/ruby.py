"""Ruby 2.6 or later."""

from __future__ import annotations

from oi_engine.computer.driver import DRIVERS, Driver

RUBY = Driver(
    language="ruby",
    programs=("ruby",),
    arguments=("-EUTF-8", str(DRIVERS / "ruby.rb")),
    remedy="Install Ruby: `apt-get install ruby`, `dnf install ruby` or `brew install ruby`.",
    suffix=".rb",
)
