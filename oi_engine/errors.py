"""Every error that the engine raises on purpose.

::

    OiError                      what went wrong, and what to do about it
    ├── InvalidMessage           an LMC message or chunk that is not of the documented form
    ├── InvalidSetting           a setting with a value that it cannot have
    ├── ProfileError             a profile that cannot be read: ``path``, ``line`` and ``column`` say where
    │   └── ProfileNotFound      no profile has that name
    ├── MalformedStream          chunks out of order: a defect of the engine, never of the caller
    ├── SessionError
    │   ├── UnknownProposal      decided already, expired, or never made
    │   ├── UnknownInput         no program waits for that input
    │   └── SessionBusy          asked in a state that does not allow it
    ├── GrantError               an attempt to run what nobody approved
    ├── ComputerError
    │   ├── LanguageUnavailable  the program that runs the language is not there
    │   ├── KernelFailed         a kernel did not start
    │   └── KernelDied           a kernel ended while code ran
    ├── NotHere                  a part of Open Interpreter that is not in oi-lsp
    ├── EditError
    │   ├── EditRefused          a file that may not be edited
    │   └── HunkError            a hunk that cannot be accepted or rejected (any more)
    ├── ChangesError             what runs changed on disk could not be followed, shown or taken back
    │   ├── ChangesNotFollowed   changes of this folder are not followed
    │   ├── UnknownChange        never recorded, or too old to be kept
    │   └── RevertRefused        a change that cannot be taken back (any more)
    ├── HistoryError             stored conversations could not be read or written
    │   ├── UnknownConversation  deleted, or never stored
    │   ├── ConversationChanged  somebody else has written to it meanwhile
    │   ├── HistoryTooNew        written by a later version of the program
    │   └── HistoryDamaged       not readable as a database
    └── ModelError               a turn's model failed; ``kind`` says how
"""

from __future__ import annotations

from typing import Literal

ModelErrorKind = Literal[
    "no_key",
    "bad_key",
    "unknown_model",
    "quota",
    "rate_limit",
    "overloaded",
    "budget",
    "unreachable",
    "dropped",
    "context_length",
    "malformed_reply",
    "refused",
    "worker_died",
    "other",
]


class OiError(Exception):
    """An error made for a person: ``message`` says what is wrong, ``remedy`` what to do (may be empty)."""

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}".rstrip()


class InvalidMessage(OiError):
    """An LMC message or chunk that is not of the documented form; the message names the field."""


class InvalidSetting(OiError):
    """A setting with a value that it cannot have; the message names the setting."""


class ProfileError(OiError):
    """A profile, or another file of settings, that cannot be read.

    ``path`` is the file; ``line`` and ``column`` count from 1 and are ``None`` where the whole file is meant.
    ``reason`` is what is wrong, without the place.
    """

    def __init__(self, path: str, reason: str, line: int | None = None, column: int | None = None) -> None:
        place = ":".join(str(part) for part in (path, line, column) if part)
        super().__init__(f"{place}: {reason}")
        self.path = path
        self.reason = reason
        self.line = line
        self.column = column


class ProfileNotFound(ProfileError):
    """No profile has that name; the reason lists those that there are."""


class MalformedStream(OiError):
    """Chunks out of order."""


class SessionError(OiError):
    """A session was asked for something that it cannot do."""


class UnknownProposal(SessionError):
    """The proposal was decided already, has expired, or never existed."""


class UnknownInput(SessionError):
    """No program waits for that input."""


class SessionBusy(SessionError):
    """The session's state does not allow the request."""


class GrantError(OiError):
    """An attempt to run code that nobody approved, or to use an approval twice."""


class ComputerError(OiError):
    """Code could not be run."""


class LanguageUnavailable(ComputerError):
    """The program that runs the language is not installed; the remedy is the command that installs it."""


class KernelFailed(ComputerError):
    """A kernel or driver did not start."""


class KernelDied(ComputerError):
    """A kernel or driver ended while code ran; its variables are gone."""


class NotHere(OiError, AttributeError):
    """A documented part of Open Interpreter that is not in oi-lsp; the message names it."""


class EditError(OiError):
    """An inline edit could not be made."""


class EditRefused(EditError):
    """The file may not be edited; the message says why."""


class HunkError(EditError):
    """The hunk is not there to be accepted or rejected (any more)."""


class ChangesError(OiError):
    """What runs changed on disk could not be followed, shown or taken back."""


class ChangesNotFollowed(ChangesError):
    """What runs change in this folder is not followed; the message says why."""


class UnknownChange(ChangesError):
    """The change was never recorded, or is too old to be kept."""


class RevertRefused(ChangesError):
    """The change cannot be taken back (any more); nothing was written. The message says why."""


class HistoryError(OiError):
    """Stored conversations could not be read or written."""


class UnknownConversation(HistoryError):
    """The conversation was deleted, or was never stored."""


class ConversationChanged(HistoryError):
    """Somebody else has written to the conversation since it was read."""


class HistoryTooNew(HistoryError):
    """The database was written by a later version of the program; it is left as it is."""


class HistoryDamaged(HistoryError):
    """The database cannot be read."""


class ModelError(OiError):
    """The model did not answer.

    ``kind`` tells the cases apart for programs; ``message`` and ``remedy`` are for the person. ``retry_after`` is how
    many seconds the provider asked to wait, where it did.
    """

    def __init__(self, kind: ModelErrorKind, message: str, remedy: str = "", retry_after: float | None = None) -> None:
        super().__init__(message, remedy)
        self.kind: ModelErrorKind = kind
        self.retry_after = retry_after
