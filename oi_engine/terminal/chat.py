"""The conversation in a terminal: ask for a message, show the turn, put the gate's questions, until it is left."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from oi_engine.approval import Always, Proposal
from oi_engine.errors import OiError, SessionError
from oi_engine.factory import Engine
from oi_engine.messages import SAFE, Message
from oi_engine.safety.reveal import reveal
from oi_engine.safety.sanitize import sanitize
from oi_engine.session.session import Session
from oi_engine.session.state import PendingInput, Snapshot
from oi_engine.stream import Entry
from oi_engine.terminal.ask import Asker, Interrupted, Left, block_content
from oi_engine.terminal.editor import EditorFailed, edit
from oi_engine.terminal.renderer import Renderer, Tone

if TYPE_CHECKING:
    from oi_engine.magic.commands import Magic

FRAME = 1 / 30
_ALWAYS: dict[str, Always] = {"always": "session", "here": "here"}
"""Seconds between two looks at what is to be drawn."""

HOW_TO_LEAVE = "Ctrl-D leaves; so does Ctrl-C once more."
NOBODY = "Not run: nobody can be asked here. --yes runs code without asking."
NOBODY_REASON = "Nobody could be asked, because the input is no terminal. Do not propose code again."
NOT_SCANNED = "Not scanned yet: s scans it first."
NOTHING_FOUND = "The scan found nothing to say."
REFUSALS = 3
"""Proposals that one turn may make where nobody can be asked; then it is stopped."""


class Chat:
    """A session in a terminal, or with ``%open`` one after the other. Without ``engine`` there are no stored ones."""

    def __init__(
        self,
        session: Session,
        renderer: Renderer,
        asker: Asker,
        *,
        engine: Engine | None = None,
        lend_terminal: Callable[[], contextlib.AbstractContextManager[None]] = contextlib.nullcontext,
        echo: bool = False,
        nobody: str = NOBODY,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.session = session
        self._renderer = renderer
        self._asker = asker
        self._lend_terminal = lend_terminal
        self._echo = echo
        self._nobody = nobody
        self._clock = clock
        self._changed = asyncio.Event()
        self._asking = False
        self._failed = False
        self._loaded = False
        self._review = ""
        self._engine = engine or Engine(session.settings)
        self._subscribe()

    def close(self) -> None:
        """Show nothing more of the session."""
        for done in self._ends:
            done()

    def say(self, text: str, tone: Tone = "note") -> None:
        """Show a word of the terminal's own, at once where no question is on the screen."""
        self._renderer.say(text, tone)
        if not self._asking:
            self._renderer.draw()

    def interrupt(self) -> None:
        """Ctrl-C came as a signal: stop what goes on, or leave the question alone."""
        if not self.session.stop().stopped:
            self._asker.interrupt()

    def resume(self) -> None:
        """The process was stopped for a while and goes on: others have written to the terminal."""
        self._renderer.resume()

    # --- messages ----------------------------------------------------------------------------------------------

    async def converse(self) -> bool:
        """Ask for messages and serve them until the person leaves. Answers whether no turn failed."""
        good = True
        told = False
        while True:
            try:
                text = block_content(await self._asker.message())
            except Left:
                return good
            except Interrupted:
                if told or not self._asker.can_ask:
                    return good
                told = True
                self.say(HOW_TO_LEAVE)
                self._renderer.settle()
                continue
            told = False
            if text.strip():
                good = await self._serve(text) and good

    async def _serve(self, text: str) -> bool:
        if self._echo:
            self.say(text, "echo")
        from oi_engine.magic import commands  # late: the prompt does not wait for it

        command = commands.parse(text)
        return await (self.turn(text) if command is None else self._magic(command))

    # --- magic commands ----------------------------------------------------------------------------------------

    async def _magic(self, command: Magic) -> bool:
        """Do what a command says, and see the run through that it may have asked for."""
        from oi_engine.magic import commands
        from oi_engine.terminal.replay import show_end

        self._failed = self._loaded = False
        try:
            said = await commands.run(command, self.session, self._engine, self._go_over)
        except OiError as error:
            self.say(str(error), "error")
            said = ""
        if self._loaded:
            show_end(self._renderer, self.session.messages)
        if said:
            self._renderer.tell(said)
        await self._see_through()
        return not self._failed

    async def _go_over(self, conversation_id: str) -> Session:
        """Show the session of a stored conversation from now on, and end the one before."""
        from oi_engine.terminal.replay import show_end

        session = await self._engine.reopen(conversation_id)
        before = self.session
        for end in self._ends:
            end()
        self.session = session
        self._subscribe()
        await self._engine.close_session(before)
        show_end(self._renderer, session.messages)
        return session

    def _subscribe(self) -> None:
        self._ends = (self.session.stream.subscribe(self._entry), self.session.on_state(self._state))

    # --- a turn ------------------------------------------------------------------------------------------------

    async def turn(self, request: str | Sequence[Message]) -> bool:
        """Send a request and see its turn through. Answers whether it did not end in an error."""
        self._failed = False
        self.session.send(request)
        await self._see_through()
        self._say_cost()
        return not self._failed

    def _say_cost(self) -> None:
        """Say what the turn cost, where that is known and is something."""
        spent = self.session.snapshot
        if spent.turn_usage.cost and spent.usage.cost:
            from oi_engine.models.budget import dollars

            self.say(f"{dollars(spent.turn_usage.cost)} for this turn, {dollars(spent.usage.cost)} so far.")
            self._renderer.settle()

    async def _see_through(self) -> None:
        """Draw, and answer what is asked, until the session is at rest."""
        drawing = asyncio.create_task(self._draw())
        try:
            await self._attend()
        finally:
            drawing.cancel()
            await asyncio.wait([drawing])
            self._renderer.settle()

    async def _attend(self) -> None:
        """Answer the turn's questions until it is over."""
        refusals = 0
        answered: str | None = None
        while (snapshot := self.session.snapshot).state != "idle":
            self._changed.clear()
            if snapshot.proposal is not None and self._asker.can_ask:
                await self._while_it_waits(self._decide(snapshot.proposal), lambda now: now.proposal)
            elif snapshot.proposal is not None:
                refusals += 1
                self._refuse(snapshot.proposal, refusals)
            elif snapshot.input is not None and snapshot.input.id != answered:
                answered = snapshot.input.id
                await self._while_it_waits(self._answer(snapshot.input), lambda now: now.input)
            else:
                await self._changed.wait()

    async def _while_it_waits(
        self, asking: Coroutine[Any, Any, None], what: Callable[[Snapshot], Proposal | PendingInput | None]
    ) -> None:
        """Ask, and take the question back when what it is about no longer waits."""
        waiting = what(self.session.snapshot)
        question = asyncio.create_task(asking)
        self._asking = True
        try:
            while not question.done():
                change = asyncio.create_task(self._changed.wait())
                await asyncio.wait({question, change}, return_when=asyncio.FIRST_COMPLETED)
                change.cancel()
                self._changed.clear()
                if what(self.session.snapshot) is not waiting and not question.done():
                    question.cancel()
                    await asyncio.wait({question})
        finally:
            self._asking = False
            if not question.done():
                question.cancel()
                await asyncio.wait({question})
        if not question.cancelled():
            question.result()

    async def _draw(self) -> None:
        while True:
            if not self._asking:
                self._renderer.draw()
            await asyncio.sleep(FRAME)

    def _entry(self, entry: Entry) -> None:
        if not entry.turn_id:
            # It was loaded and not said here: of that the end is enough.
            self._loaded = self._loaded or entry.chunk.start
            return
        self._failed = self._failed or entry.chunk.type == "error"
        if entry.chunk.type == "review" and isinstance(entry.chunk.content, str):
            self._review += entry.chunk.content
        self._renderer.entry(entry)

    def _state(self, snapshot: Snapshot) -> None:
        self._renderer.state(snapshot)
        self._changed.set()

    # --- the gate's questions ----------------------------------------------------------------------------------

    async def _decide(self, proposal: Proposal) -> None:
        """Put the question until it is decided. What is approved is what the question stood under."""
        code: str | None = None
        findings = proposal.findings
        try:
            while True:
                shown = proposal.cell.code if code is None else code
                self._warn([*map(str, reveal(shown).found), *findings])
                self._tell_of_scan()
                self._renderer.pause()
                verdict = await self._asker.approval()
                if verdict == "edit":
                    code = await self._edit(shown, proposal.cell.language, code)
                elif verdict == "scan":
                    # Of the code as proposed, the words come with the proposal, for which this question is put anew.
                    self._review = ""
                    findings = (await self.session.scan(proposal.id, code)).words
                elif verdict == "no":
                    self.session.reject(proposal.id, await self._asker.reason())
                    self._review = ""
                    return
                else:
                    self._review = ""
                    self.session.approve(proposal.id, code, always=_ALWAYS.get(verdict))
                    return
        except (Interrupted, Left):
            self.session.stop()
        except SessionError as error:
            self._renderer.say(str(error), "error")

    def _tell_of_scan(self) -> None:
        """Say that code was not scanned, where safe mode asks, and of a scan that found nothing that it was made."""
        asks = self.session.settings.safe_mode == "ask"
        words = NOTHING_FOUND if self._review and not self._review.replace(SAFE, "") else NOT_SCANNED if asks else ""
        if words and (words != NOT_SCANNED or not self._review):
            self._renderer.hand_over()
            self._renderer.say(words)

    def _warn(self, findings: Sequence[str]) -> None:
        """Say what is to be known of the code, under the code and above the question; it stays on the screen."""
        if findings:
            self._renderer.hand_over()
            self._renderer.say("\n".join(findings), "warning")

    async def _edit(self, shown: str, language: str, before: str | None) -> str | None:
        """The code as edited. Where the editor failed or left it as it was: what stood for it before."""
        self._renderer.hand_over()
        try:
            with self._lend_terminal():
                edited = await edit(shown, language)
        except EditorFailed as error:
            self._renderer.say(str(error), "error")
            return before
        if edited == shown:
            self._renderer.say("The code is as it was.")
            return before
        self._renderer.show_edit(edited)
        return edited

    def _refuse(self, proposal: Proposal, refusals: int) -> None:
        """Nobody can be asked: the answer is no. A model that keeps proposing is stopped."""
        self.say(self._nobody, "warning")
        if refusals < REFUSALS:
            self.session.reject(proposal.id, NOBODY_REASON)
        else:
            self.session.stop()

    async def _answer(self, pending: PendingInput) -> None:
        """Ask for the line that the program waits for."""
        if not self._asker.can_ask:
            self._renderer.say(
                "The program asks for input, and nobody can be asked here: it is interrupted.", "warning"
            )
            await self.session.interrupt()
            return
        self._renderer.pause()
        try:
            text = await self._asker.program_input(sanitize(pending.prompt), password=pending.password)
            self.session.answer(pending.id, text)
        except (Interrupted, Left):
            self.session.stop()
        except SessionError as error:
            self._renderer.say(str(error), "error")
