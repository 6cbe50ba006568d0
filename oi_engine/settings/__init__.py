"""Settings: one tree of them (``tree``), what values they take (``values``), and where they come from (``layers``)."""

from oi_engine.settings.layers import Layer, Origin, Problem, Resolved, read, resolve
from oi_engine.settings.tree import ComputerSettings, LlmSettings, Settings

__all__ = [
    "ComputerSettings",
    "Layer",
    "LlmSettings",
    "Origin",
    "Problem",
    "Resolved",
    "Settings",
    "read",
    "resolve",
]
