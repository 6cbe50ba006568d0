"""``computer.run``: the program's own code, in the kernel that the model's code runs in, beside the conversation."""

from __future__ import annotations

import logging
from contextlib import aclosing
from typing import Any

from attrs import define, field

from oi_engine.computer.runtime import Finished, InputRequest, Notice, Rich, RunEvent, Text
from oi_engine.messages import Recipient
from oi_engine.session.session import Session
from oi_engine.stream import Entry, Stream
from oi_engine.transcript import Transcript

log = logging.getLogger(__name__)


async def run_own_code(session: Session, language: str, code: str) -> list[dict[str, Any]]:
    """Run one cell; answers what it put out as LMC messages. Raises ``ComputerError``.

    Neither the code nor its output is in the conversation: it may hold keys (``code-execution/usage``). Sending it is
    the approval.
    """
    naming = session.computer.naming
    if naming.canonical(language) is None:
        await session.computer.look_for_languages()
    cell = await session.cell(naming.canonical(language) or language, code)
    output = _Output()
    async with aclosing(session.computer.run(session.gate.own(cell))) as events:
        async for event in events:
            output.take(event)
            if isinstance(event, InputRequest):
                log.warning("The code asks for input, and nobody can be asked here: it is interrupted.")
                await session.computer.interrupt()
    return output.messages()


@define
class _Output:
    """Folds what a run says into messages, as a session's stream does."""

    _stream: Stream = field(factory=Stream)
    _transcript: Transcript = field(factory=Transcript)

    def __attrs_post_init__(self) -> None:
        self._stream.subscribe(self._fold)

    def take(self, event: RunEvent) -> None:
        match event:
            case Text(text, stream):
                head = self._stream.open_message
                recipient: Recipient | None = "assistant" if stream == "twin" else None
                if head is None or head.type != "console" or head.recipient != recipient:
                    self._stream.open("computer", "console", recipient=recipient)
                self._stream.write(text, "output")
            case Rich(kind, form, content):
                self._whole(kind, form, content)
            case Notice(text):
                self._whole("message", None, text)
            case Finished(status, detail) if status != "ok" and detail:
                self._whole("message", None, f"{detail}.")
            case _:
                pass

    def messages(self) -> list[dict[str, Any]]:
        self._stream.close()
        return [message.to_dict() for message in self._transcript.messages]

    def _whole(self, kind: Any, form: str | None, content: str) -> None:
        self._stream.open("computer", kind, form)
        self._stream.write(content)
        self._stream.close()

    def _fold(self, entry: Entry) -> None:
        self._transcript.apply(entry.chunk)
