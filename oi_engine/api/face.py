"""What ``OpenInterpreter`` and ``AsyncInterpreter`` have in common: settings, messages, the gate, the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from oi_engine.api.attributes import Attributes
from oi_engine.api.core import Core
from oi_engine.api.hub import hub
from oi_engine.api.kept import KeptList
from oi_engine.api.parts import Llm
from oi_engine.approval import Always
from oi_engine.errors import InvalidMessage, SessionBusy
from oi_engine.history.importing import messages_from_dicts
from oi_engine.messages import Message

Given = str | Mapping[str, Any] | Sequence[Mapping[str, Any]]
"""What ``chat`` takes: text, one LMC message (the role may be left out), or a whole conversation."""


class Face(Attributes):
    """One interpreter, as a program sees it."""

    def __init__(self) -> None:
        super().__init__(Core())
        self._llm = Llm(self._core)
        self._kept: KeptList[dict[str, Any]] = KeptList()

    @property
    def llm(self) -> Llm:
        """The language model and its settings."""
        return self._llm

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation as documented LMC messages (``protocols/lmc-messages``).

        Between two turns it is one list, which can be changed in place or set: to what ``chat`` has returned, to a
        list in the documented form or in that of the first releases. Raises ``InvalidMessage``, ``SessionBusy``.
        """
        if self._at_work():
            return hub().call(self._core.messages())
        self._adopt()
        self._kept.show(hub().call(self._core.messages()))
        return self._kept.items

    @messages.setter
    def messages(self, messages: Sequence[Mapping[str, Any]]) -> None:
        wanted = messages_from_dicts(messages)
        hub().call(self._core.conversation(wanted))
        self._kept.show(hub().call(self._core.messages()))

    def load(self, messages: Sequence[Mapping[str, Any]]) -> None:
        """The same as setting ``messages``, as the first release had it."""
        self.messages = messages

    def profile(self, name: str) -> None:
        """Go by a profile: its name in the profiles folder, or a path. What was set on the object counts more.

        Raises ``ProfileError`` where there is none of that name.
        """
        hub().call(self._core.go_by(name))

    @property
    def responding(self) -> bool:
        """Whether a turn is under way."""
        return self._at_work()

    @property
    def proposal(self) -> dict[str, Any] | None:
        """The code that waits for ``approve`` or ``reject``: ``id``, ``language``, ``code``, ``findings``."""
        return hub().call(self._core.proposal())

    @property
    def question(self) -> dict[str, Any] | None:
        """What the running program asks (``input()``): ``id``, ``prompt``, ``password``; see ``answer``."""
        return hub().call(self._core.question())

    @property
    def usage(self) -> dict[str, Any]:
        """What the replies cost so far: ``prompt_tokens``, ``completion_tokens``, ``cost`` in US dollars.

        ``cost`` is ``None`` where no price is known; ``turn`` has the same of the turn under way, or of the last one.
        """
        return hub().call(self._core.usage())

    def approve(self, code: str | None = None, *, always: Always | bool = False) -> None:
        """Run the code that waits, or ``code`` in its place. Raises ``UnknownProposal`` where none waits.

        With ``always`` the same code in the same place is not asked about again: with ``True`` or ``"session"`` in this
        conversation, with ``"here"`` until it is revoked (`%policy`).
        """
        hub().call(self._core.decide(code, always=always))

    def reject(self, reason: str = "") -> None:
        """Do not run the code that waits; the model is told, with the reason. Raises ``UnknownProposal``."""
        hub().call(self._core.reject(reason))

    def answer(self, text: str) -> None:
        """Give the running program the line that it asks for. Raises ``UnknownInput``."""
        hub().call(self._core.answer(text))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {'at work' if self._at_work() else 'at rest'}>"

    # --- for the two of them -----------------------------------------------------------------------------------

    def _at_work(self) -> bool:
        run = self._core.run
        return run is not None and not run.over

    def _adopt(self) -> None:
        """Take over what the program has changed in the list of messages."""
        if self._kept.changed():
            self.messages = list(self._kept.items)

    def _request(self, message: Given) -> tuple[list[Message], list[Message] | None]:
        """The messages to send, and the conversation that is to stand before them, where one was given.

        Raises ``InvalidMessage``.
        """
        if self._at_work():
            raise SessionBusy(
                "This interpreter is still answering.", "Call wait() or stop() first, or use another OpenInterpreter()."
            )
        self._adopt()
        if isinstance(message, str):
            return [Message("user", "message", message)], None
        if isinstance(message, Mapping):
            return messages_from_dicts([{"role": "user", **message}]), None
        whole = messages_from_dicts(message)
        if not whole:
            raise InvalidMessage("The list holds no message.", "The last message of it is what is answered.")
        return whole[-1:], whole[:-1]
