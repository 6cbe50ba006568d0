"""JavaScript, in node."""

from __future__ import annotations

from oi_engine.computer.driver import DRIVERS, Driver

NODE = Driver(
    language="javascript",
    programs=("node", "nodejs"),
    # A cell that is stopped in a callback leaves node's own stack of callbacks uneven, for which it would abort.
    arguments=("--no-force-async-hooks-checks", str(DRIVERS / "node.js")),
    remedy="Install Node.js 18 or later: `apt-get install nodejs`, `brew install node`, or its own installer.",
    suffix=".js",
    interrupted_by_request=True,
    reports_input=True,
)
