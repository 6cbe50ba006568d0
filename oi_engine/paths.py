"""The folders of this program on each platform. None of them is made here but by ``made``."""

from __future__ import annotations

from pathlib import Path

_NAME = "oi-lsp"


def config_folder() -> Path:
    """Settings: on Linux ``~/.config/oi-lsp``."""
    import platformdirs

    return platformdirs.user_config_path(_NAME, appauthor=False)


def profiles_folder() -> Path:
    """The person's profiles."""
    return config_folder() / "profiles"


def data_folder() -> Path:
    """What must be kept, such as conversations: on Linux ``~/.local/share/oi-lsp``."""
    import platformdirs

    return platformdirs.user_data_path(_NAME, appauthor=False)


def state_folder() -> Path:
    """What may be lost without harm, such as logs and the prompts typed before: on Linux ``~/.local/state/oi-lsp``."""
    import platformdirs

    return platformdirs.user_state_path(_NAME, appauthor=False)


def cache_folder() -> Path:
    """What can be made again or is soon outdated: on Linux ``~/.cache/oi-lsp``."""
    import platformdirs

    return platformdirs.user_cache_path(_NAME, appauthor=False)


def made(folder: Path) -> Path:
    """The folder, made if it is missing and then readable by the person alone. Raises ``OSError``."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder
