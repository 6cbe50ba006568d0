"""PowerShell 7. Written after its documentation; it has not been run on any machine of ours yet."""

from __future__ import annotations

from oi_engine.computer.driver import DRIVERS, Driver

POWERSHELL = Driver(
    language="powershell",
    programs=("pwsh",),
    arguments=("-NoLogo", "-NoProfile", "-File", str(DRIVERS / "powershell.ps1")),
    remedy="Install PowerShell 7: `brew install powershell`, `snap install powershell --classic`, or as "
    "learn.microsoft.com/powershell/scripting/install says for your system.",
    suffix=".ps1",
    environment={"POWERSHELL_TELEMETRY_OPTOUT": "1", "POWERSHELL_UPDATECHECK": "Off", "NO_COLOR": "1"},
    interrupted_by_request=True,
)
