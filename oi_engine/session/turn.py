"""One turn: what the person asked, the model's replies, each block of code past the gate, until no code is left.

``begin`` and ``end`` are synchronous and always happen; ``converse`` between them may be cancelled at any point. What
it was at is told by what it left in the stream, and ``end`` puts that in order: no message stays open, every code
message is answered (it ran, or a note says why not), and a failed turn says what failed.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import Any, Protocol

from attrs import asdict, frozen

from oi_engine.approval import Always, Cell, Gate, Grant, Proposal
from oi_engine.computer.computer import Computer
from oi_engine.computer.runtime import (
    ActiveLine,
    Denied,
    Failure,
    Finished,
    InputRequest,
    InputTaken,
    Notice,
    Rich,
    RunEvent,
    Text,
)
from oi_engine.errors import ComputerError, LanguageUnavailable, ModelError, OiError
from oi_engine.interruption import CUT_OFF, NOT_RUN, interrupted
from oi_engine.messages import Chunk, Content, Message, Recipient, new_id
from oi_engine.models import model as models
from oi_engine.models.conversation import Ask, Conversation
from oi_engine.models.model import Model
from oi_engine.models.reply import ReplyParser
from oi_engine.models.retry import with_retries
from oi_engine.session.effects import Effects, Look
from oi_engine.session.reply_writer import Block, ReplyWriter
from oi_engine.session.review import Review, Reviews
from oi_engine.session.state import PendingInput, Snapshot, State
from oi_engine.settings import Settings
from oi_engine.stream import Stream

log = logging.getLogger(__name__)


@frozen
class OwnCode:
    """Code of the person's own."""

    language: str
    code: str


@frozen
class Request:
    """What a turn serves: messages for the model, or code of the person's own."""

    messages: tuple[Message, ...] = ()
    own_code: OwnCode | None = None

    @property
    def text(self) -> str:
        """The request in words, for the list of what waits."""
        if self.own_code is not None:
            return self.own_code.code
        return "\n".join(message.text for message in self.messages if message.type == "message")


@frozen
class Decision:
    """What the person decided: a grant (for the code as shown, or as they edited it), or no, with a reason."""

    grant: Grant | None = None
    edited: bool = False
    always: Always | None = None
    reason: str = ""


class Host(Protocol):
    """What a turn has of its session."""

    id: str
    cwd: str
    settings: Settings
    model: Model
    stream: Stream
    gate: Gate
    computer: Computer
    reviews: Reviews

    @property
    def effects(self) -> Effects: ...
    @property
    def conversation(self) -> Conversation: ...
    @property
    def messages(self) -> list[Message]: ...
    @property
    def snapshot(self) -> Snapshot: ...
    async def cell(self, language: str, code: str) -> Cell: ...
    def show_state(self, state: State) -> None: ...
    def show_proposal(self, proposal: Proposal) -> None: ...
    def show_input(self, pending: PendingInput | None) -> None: ...
    def show_usage(self, usage: models.Usage) -> None: ...


class Turn:
    """One turn of a session."""

    def __init__(self, host: Host, request: Request) -> None:
        self._host = host
        self._stream = host.stream
        self._request = request
        self._decision: asyncio.Future[Decision] | None = None
        self._unanswered: list[Block] = []
        self._running: Block | None = None
        self.proposed: tuple[str, Review] = ("", Review())
        """The code message that waits for a decision, and what is known of the code that was proposed for it."""
        self.stopping = False
        self.stop_notes: list[str] = []

    def begin(self) -> None:
        """Write down what the person asked."""
        for message in self._request.messages:
            self._write(message)
        if self._request.own_code is not None:
            own = self._request.own_code
            language = self._host.computer.naming.canonical(own.language) or own.language
            message_id = self._stream.open("user", "code", language)
            self._stream.write(own.code)
            self._stream.close()
            self._unanswered.append(Block(message_id, language, own.code))

    async def converse(self) -> None:
        """Everything until the turn is over. Raises ``ModelError`` where the model fails."""
        self._host.effects.warm_up()
        if self._request.own_code is not None:
            block = self._unanswered[0]
            if self._host.computer.naming.canonical(block.language) is None:
                await self._host.computer.look_for_languages()
            await self._execute(block, self._host.gate.own(await self._host.cell(block.language, block.code)))
            return
        while True:
            reply = await self._think()
            if reply.blocks:
                await self._work_off(reply.blocks)
            elif not self._goes_on(reply.prose):
                return
            if self.stopping:
                return

    def end(self, task: asyncio.Task[None]) -> None:
        """Put the stream in order and say how the turn ended."""
        self._stream.close()
        error = None if task.cancelled() else task.exception()
        if self.stopping:
            self._stream.put(Chunk("user", "command", content="stop", id=new_id("m")))
            self._answer_rest("The person stopped this turn; the code did not run.")
            for note in self.stop_notes:
                self._note(note, None)
            self._note("The person stopped this turn.", None, recipient="assistant")
        elif task.cancelled():
            self._cut_off()
        else:
            self._answer_rest("The reply broke off; the code did not run.")
        if error is not None and not self.stopping:
            if not isinstance(error, OiError):
                log.error("A turn failed.", exc_info=error)
            content = str(error) if isinstance(error, OiError) else f"Internal error: {type(error).__name__}: {error}"
            self._stream.put(Chunk("server", "error", content=content, id=new_id("m")))
        self._stream.put(Chunk("server", "status", content="complete", id=new_id("m")))

    def _cut_off(self) -> None:
        """Say that the turn ends in the middle, and of each block what became of it."""
        when = "before code was decided on" if self._unanswered else "while the model answered"
        if self._running is not None:
            when = "while code ran"
            self._note(CUT_OFF, self._running)
        self._answer_rest(NOT_RUN)
        self._stream.put(Chunk("server", "error", content=interrupted(when), id=new_id("m")))

    def decide(self, decision: Decision) -> None:
        """The person's decision on the proposal that waits."""
        if self._decision is not None and not self._decision.done():
            self._decision.set_result(decision)

    # --- the model ---------------------------------------------------------------------------------------------

    async def _think(self) -> ReplyWriter:
        host = self._host
        host.show_state("thinking")
        host.reviews.warm_up()
        request = await self._prompt()
        naming = host.computer.naming
        writer = ReplyWriter(self._stream, naming, tools=request.tools)
        parser = ReplyParser(request.tools, naming.known_names())
        begun = paid = False
        try:
            async with contextlib.aclosing(with_retries(host.model, request)) as events:
                async for event in events:
                    if isinstance(event, models.Usage | models.Notice):
                        paid = paid or isinstance(event, models.Usage)
                        self._aside(event)
                    else:
                        begun = True
                        writer.write(parser.feed(event))
            writer.write(parser.finish())
        except BaseException:
            writer.write(parser.finish(broken=True))
            raise
        finally:
            self._unanswered.extend(writer.finish())
            if begun and not paid and host.conversation.least is not None:
                # Stopped or broken off, it was paid for all the same.
                host.show_usage(host.conversation.least)
        if parser.error is not None:
            raise parser.error
        if not writer.blocks and not writer.prose.strip():
            raise ModelError(
                "malformed_reply", "The model replied with nothing.", "Ask again, or choose another model."
            )
        return writer

    async def _prompt(self) -> models.ModelRequest:
        """What the model is asked, and beforehand what the person must know of it."""
        host = self._host
        await host.computer.look_for_languages()
        async with contextlib.aclosing(host.conversation.request(host.messages, ask_of(host))) as steps:
            async for step in steps:
                if isinstance(step, models.ModelRequest):
                    return step
                self._aside(step)
        raise RuntimeError("no request was made")

    def _aside(self, event: models.Usage | models.Notice) -> None:
        """What a model says beside its reply."""
        if isinstance(event, models.Usage):
            self._host.show_usage(event)
        else:
            self._note(event.text, None, recipient="user")

    def _goes_on(self, prose: str) -> bool:
        """Whether the loop setting sends the model on though it wrote no code."""
        settings = self._host.settings
        if not settings.loop or any(breaker in prose for breaker in settings.loop_breakers):
            return False
        self._write(Message("computer", "message", settings.loop_message, recipient="assistant"))
        return True

    # --- the gate and the computer -----------------------------------------------------------------------------

    async def _work_off(self, blocks: list[Block]) -> None:
        """Take each block of a reply past the gate; after one that did not succeed, the rest is not run."""
        why_not = ""
        for block in blocks:
            if self.stopping:
                return
            if why_not:
                self._answer(block, why_not)
            elif problem := await self._unavailable(block):
                self._answer(block, problem)
            else:
                why_not = await self._offer(block)

    async def _unavailable(self, block: Block) -> str:
        """Why the block cannot run here, if it cannot: nobody is asked about code that cannot run."""
        if not block.code.strip():
            return "The block is empty."
        try:
            cell = await self._host.cell(block.language, block.code)
            self._host.computer.prepare(cell.language, cell.cwd, cell.sandbox)
        except LanguageUnavailable as error:
            return str(error)
        return ""

    async def _offer(self, block: Block) -> str:
        """Propose one block and do as decided. Answers why the blocks after it should not run, or nothing."""
        cell, reviews = await self._host.cell(block.language, block.code), self._host.reviews
        review = await reviews.before(cell, block.message_id)
        decision = await self._proposed(block, cell, review)
        while decision.grant is not None and decision.edited:
            cell = decision.grant.cell
            known, review = self.proposed[1], await reviews.before(cell, block.message_id)
            if not review.new_against(known):
                break
            # What the person wrote does something that they were not told of: this approval is not used.
            decision = await self._proposed(block, cell, review)
        if decision.grant is None:
            reason = f" They said: {decision.reason}" if decision.reason.strip() else ""
            self._answer(block, f"The person declined to run this code.{reason}")
            return "Not run, because the block before it was declined."
        reviews.accepted(decision.grant.cell, review)
        if decision.always is not None:
            await self._remember(decision.grant, decision.always, block)
        if decision.grant.cell.code != block.code:
            self._stream.open("user", "code", block.language, parent=block.message_id)
            self._stream.write(decision.grant.cell.code)
        finished = await self._execute(block, decision.grant)
        return "" if finished.status == "ok" else "Not run, because the block before it did not succeed."

    async def _remember(self, grant: Grant, always: Always, block: Block) -> None:
        """Have the same code not asked about again, now that it is about to run; where that fails it runs once."""
        try:
            await self._host.gate.remember(grant, always)
        except OiError as error:
            self._note(str(error), block, recipient="user")

    async def _proposed(self, block: Block, cell: Cell, review: Review) -> Decision:
        """Put a cell before the person, with what is known of it, and wait for their decision."""
        gate = self._host.gate
        proposal = gate.propose(cell, review.remarks, reviewed=self._host.settings.safe_mode == "auto")
        content = {"type": "code", "format": cell.language, "content": cell.code}
        self._stream.put(
            Chunk("computer", "confirmation", "execution", content, id=proposal.id, parent=block.message_id)
        )
        judged = gate.judge(proposal)
        if judged.verdict == "run" and self._host.reviews.lets_pass(cell, review):
            if judged.why:
                self._tell("unasked", {"words": f"It ran without a question. {judged.why}"}, block)
            return Decision(grant=gate.approve(proposal.id, cell))
        self.proposed = (block.message_id, review)
        self._decision = asyncio.get_running_loop().create_future()
        self._host.show_proposal(proposal)
        return await self._decision

    async def _execute(self, block: Block, grant: Grant) -> Finished:
        """Run what was granted and show it. Never raises for what the program or its kernel does."""
        self._host.show_state("running")
        look = await self._host.effects.before()
        self._unanswered.remove(block)
        self._running = block
        self._tell("run", {"state": "running"}, block)
        shown = False
        finished, explained = Finished("error", "It did not run"), False
        try:
            async with contextlib.aclosing(self._host.computer.run(grant)) as events:
                async for event in events:
                    if isinstance(event, Finished):
                        finished = event
                    else:
                        explained = explained or (isinstance(event, Text) and event.stream == "traceback")
                        before = self._stream.next_seq
                        self._show(event, block)
                        shown = shown or self._stream.next_seq != before
        except ComputerError as error:
            self._console(block)
            self._stream.write(f"{error}\n", "output")
            shown, finished = True, Finished("error")
        if not shown:
            self._console(block)  # it ran, and printed nothing
        self._stream.close()
        self._running = None
        self._tell("run", {"state": finished.status}, block)
        if finished.status != "error" or not explained:
            self._note(_ending(finished, stopped=self.stopping), block)
        await self._tell_changes(look, block)
        return finished

    async def _tell_changes(self, look: Look, block: Block) -> None:
        """Say what the run changed on disk: to the person in words, to programs in a chunk."""
        told = await self._host.effects.after(look, block.message_id)
        self._note(told.words, block, recipient="user")
        if told.form is not None:
            self._tell("changes", told.form, block)

    def _show(self, event: RunEvent, block: Block) -> None:
        match event:
            case Text(text, stream, line):
                self._console(block, "assistant" if stream == "twin" else None)
                self._stream.write(text, "output", line=line)
            case ActiveLine(None) if self._open_type() != "console":
                pass  # an image came last: no line is shown that would have to be taken back
            case ActiveLine(line):
                self._console(block)
                self._stream.write(None if line is None else str(line), "active_line")
            case Failure():
                self._console(block)
                place = asdict(event, filter=lambda _, value: value is not None)
                self._stream.write(None, "active_line", failure=place)
            case Rich(kind, form, content, line):
                self._stream.open("computer", kind, form, parent=block.message_id)
                self._stream.write(content, line=line)
                self._stream.close()
            case InputRequest(prompt, password) if not self.stopping:
                self._host.show_input(PendingInput(new_id("i"), prompt, password))
            case InputTaken() if not self.stopping:
                self._host.show_input(None)
            case Notice(text):
                self._note(text, block, recipient="user")
                if isinstance(event, Denied) and (event.paths or event.network):
                    self._tell("denied", {"paths": list(event.paths), "network": event.network}, block)
            case _:
                pass

    def _console(self, block: Block, recipient: Recipient | None = None) -> None:
        """Have a console message open: for the first output, and for what comes after an image."""
        head = self._stream.open_message
        if head is None or head.type != "console" or head.recipient != recipient:
            self._stream.open("computer", "console", recipient=recipient, parent=block.message_id)

    def _open_type(self) -> str:
        head = self._stream.open_message
        return head.type if head else ""

    # --- small things ------------------------------------------------------------------------------------------

    def _answer(self, block: Block, text: str) -> None:
        """Tell why a block did not run."""
        self._unanswered.remove(block)
        self._note(text, block)

    def _answer_rest(self, text: str) -> None:
        for block in list(self._unanswered):
            self._answer(block, text)

    def _note(self, text: str, block: Block | None, *, recipient: Recipient | None = None) -> None:
        """A word from the computer to the person and the model, or to one of them; nothing where there is no word."""
        if text:
            parent = block.message_id if block else None
            self._write(Message("computer", "message", text, recipient=recipient, parent=parent))

    def _tell(self, what: str, form: dict[str, Any], block: Block) -> None:
        """Say something of a block to programs, in a chunk."""
        self._stream.put(Chunk("computer", "command", what, form, id=new_id("m"), parent=block.message_id))

    def _write(self, message: Message) -> None:
        self._stream.open(
            message.role, message.type, message.format, recipient=message.recipient, parent=message.parent
        )
        content: Content = message.content
        if content:
            self._stream.write(content)
        self._stream.close()


def ask_of(host: Host) -> Ask:
    """What a session's prompt is made for now."""
    spent = host.snapshot.usage.cost or 0.0
    return Ask(host.model, host.settings, host.cwd, tuple(host.computer.languages), spent)


def _ending(finished: Finished, *, stopped: bool) -> str:
    """How a run ended, where the output alone does not tell."""
    if finished.status == "interrupted":
        return "Stopped; variables are kept." if stopped else "Interrupted; variables are kept."
    if finished.status == "died":
        return f"The kernel died ({finished.detail}). Variables are gone; the next run starts a fresh one."
    return f"{finished.detail}." if finished.detail else ""
