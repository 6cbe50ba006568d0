-- Generated from oi_lsp/protocol.py by `python -m oi_lsp.mirrors.lua`; edit that.

local M = {}

M.version = 1

---@alias oi.LmcMessage table<string, any>
---@alias oi.LmcChunk table<string, any>
---@alias oi.Attachment table<string, any>

---@class oi.ErrorData
---@field field? string The field that it is about, as a path: `sessionId`, `content[0].role`.
---@field remedy? string What to do about it, for the person.

---@class oi.Proposal
---@field id string For `oi.code.approve` and `oi.code.reject`.
---@field language string Canonical name of the language.
---@field code string What will run, to the byte.
---@field findings? string[] What the scanner and the policy say of it; absent: nothing.
---@field shown? string The code with what cannot be seen, or reorders text, written out: to be shown in its place, never to be sent back. Absent: there is nothing of that kind.
---@field hidden? string[] What the eye would miss: such characters, letters that imitate others, very long lines. A sentence each.

---@class oi.Input
---@field id string For `oi.input.answer`.
---@field prompt string What the program printed before it waited; may be empty.
---@field password boolean Whether what is typed must not be shown.

---@class oi.Queued
---@field turnId string The turn that will serve it.
---@field text string The message in words.

---@class oi.TurnUsage
---@field promptTokens integer Tokens that the model read.
---@field completionTokens integer Tokens that the model wrote.
---@field cost? number US dollars; absent where no price is known.

---@class oi.Usage
---@field promptTokens integer Tokens that the model read.
---@field completionTokens integer Tokens that the model wrote.
---@field cost? number US dollars; absent where no price is known.
---@field turn? oi.TurnUsage Of these, those of the turn under way, or of the last one; absent where it cost nothing.

---@class oi.SessionInfo
---@field sessionId string The session.
---@field title string Its title; may be empty.
---@field cwd string The working directory of its kernels.
---@field createdAt string ISO 8601, UTC.
---@field state "idle"|"thinking"|"awaiting_approval"|"running"|"awaiting_input"|"stopping" As in `oi/state`.
---@field closed boolean Whether it was closed: it can be read and deleted.

---@class oi.SessionState
---@field sessionId string The session.
---@field state "idle"|"thinking"|"awaiting_approval"|"running"|"awaiting_input"|"stopping" What goes on.
---@field turnId? string The turn under way; absent in `idle`.
---@field proposal? oi.Proposal What waits for a decision; present in `awaiting_approval` alone.
---@field input? oi.Input What the program waits for; present in `awaiting_input` alone.
---@field queue? oi.Queued[] Messages that wait for their turn, the next one first.
---@field usage? oi.Usage Tokens and cost so far.
---@field model? string The model that answers, as LiteLLM names it; absent: not chosen yet.

---@class oi.ChatOffer
---@field text string What stands in the input then, in the place of the text before the cursor.
---@field help string What that does, in a sentence or two.

---@class oi.Stored
---@field conversationId string The conversation: the id of the session that goes on with it, if one does.
---@field title string Its title; may be empty.
---@field cwd string The working directory of its kernels.
---@field createdAt string ISO 8601, UTC.
---@field updatedAt string When it was last written to. ISO 8601, UTC.
---@field length integer How many messages it has.
---@field open boolean Whether a session of this server goes on with it.
---@field parent? string The conversation that it was branched from, which may be gone.

---@class oi.Span
---@field start integer Where it begins.
---@field end integer Where it has ended.

---@class oi.HistoryHit
---@field conversation oi.Stored The conversation.
---@field snippet string A line of the message, or the title.
---@field spans oi.Span[] Where in `snippet` the words are.
---@field position? integer Which message it is, counted from 0; absent: the title.

---@class oi.Export
---@field name string A name for its file.
---@field text? string The text; absent where it was written into a file.
---@field path? string The file that it was written into.

---@class oi.PolicyApproval
---@field id string Of the approval.
---@field language string The language.
---@field begins string The beginning of the code, on one line, without keys.
---@field folder string The folder in which it holds.
---@field sandbox string The sandbox in which it holds; `off`: outside of any.
---@field approvedAt string When: ISO 8601, UTC.

---@class oi.SettingValue
---@field name string The dotted name.
---@field value? any The value in force; absent: null, or a secret.
---@field secret? boolean True for a secret, whose value is not told.
---@field origin? string `defaults`, `default profile`, `workspace`, `profile`, `environment`, `editor` or `session`.
---@field where? string The file that sets it.
---@field line? integer The line of that file, counted from 1.

---@class oi.ModelCandidate
---@field model string As LiteLLM names it.
---@field source string The variable that holds the key, or the name of the server on this machine.
---@field why string A sentence for the person.
---@field apiBase string The URL of its API; empty: the provider's own.

---@class oi.ModelOffer
---@field model string As LiteLLM names it.
---@field provider string LiteLLM's name of the provider, or the local server's.
---@field local boolean Whether it runs on this machine.
---@field apiBase? string The URL of its API; absent: the provider's own.
---@field contextWindow? integer What it can read.
---@field maxOutputTokens? integer What it can write in one reply.
---@field inputPrice? number Of a token that it reads.
---@field outputPrice? number Of a token that it writes.
---@field tools? boolean Whether it calls tools.
---@field vision? boolean Whether it sees images.

---@class oi.ProviderKey
---@field name string The environment variable that LiteLLM reads it from, such as `OPENAI_API_KEY`.
---@field key string The key, in ASCII.

---@class oi.Position
---@field line integer The line, counted from 0.
---@field character integer UTF-16 code units before it in that line.

---@class oi.Range
---@field start oi.Position Where it begins.
---@field end oi.Position Where it has ended.

---@class oi.FileAttachment
---@field uri string Its `file:` URI. It may lie outside the workspace: naming it is the permission.
---@field range? oi.Range The piece; absent: all of it.

---@class oi.TextAttachment
---@field text string The text.
---@field title string What it is, in a line.

---@class oi.BlockState
---@field block string The `oi=` of its first line.
---@field state "proposed"|"running"|"done"|"failed"|"stopped"|"rejected" `proposed`: it waits for `oi.document.run` or `oi.document.reject`. `rejected`: it waited, and did not run.
---@field line? integer The line of it that runs, counted from 1.
---@field seconds? number How long it ran.
---@field proposalId? string Of `proposed`: for `oi.code.scan`.
---@field code? string Of `proposed`: the code as the model wrote it.
---@field findings? string[] Of `proposed`: what the scanner and the policy say of it.
---@field unended? string The end of its output whose line has not ended, as a terminal would show it: a progress bar, say. It is not in the document yet.
---@field changeId? string What it changed on disk, for `oi.changes.diff`.

---@class oi.DocumentQuestion
---@field inputId string For `oi.input.answer`.
---@field block string The input block, for `oi.document.answer`.
---@field prompt string What the program printed before it waited; may be empty.
---@field password boolean Whether what is typed must not be shown: then not into the document.

---@class oi.EditHunk
---@field id string The hunk, within its edit.
---@field state "proposed"|"pending"|"accepted"|"rejected"|"stale" `pending`: it is about to be written. `stale`: the document was changed there, so that it no longer fits; it fits again when that is undone.
---@field old string What is there; empty for an insertion.
---@field new string What would be there; empty for a deletion.
---@field range? oi.Range Where `old` is (once accepted, `new`), in whole lines; absent where it is no more.

---@class oi.ChangedFile
---@field path string Relative to the session's folder; a byte that is no UTF-8 is `\xff`, and a folder ends with `/`.
---@field kind "added"|"deleted"|"modified"|"mode" `mode`: its permissions alone.
---@field what "file"|"folder"|"link" What is there, or was there last.
---@field size integer Bytes of that.
---@field why? string Why it can be neither shown nor taken back: it is too large, say.

---@class oi.Changes
---@field changeId string Its id, as in the chunk of the format `changes`.
---@field createdAt string ISO 8601, UTC.
---@field files oi.ChangedFile[] By path.
---@field parent? string The id of the code message that ran.
---@field reverts? string What was taken back; absent: a run changed this.

---@class oi.ChangeHunk
---@field hunkId string Its id within the file's change.
---@field start integer The first of the old lines, counted from 0; where `old` is empty, the line that `new` is before.
---@field old string The lines before, with their ends; what is no UTF-8 is `�`.
---@field new string The lines after.

---@class oi.FileDifference
---@field file oi.ChangedFile The path.
---@field hunks oi.ChangeHunk[] In order; none of what has no lines: folders, permissions, binary files.
---@field why? string Why there are no hunks, where that is not clear from the file.
---@field binary? boolean Whether it is no text.

---@class oi.LeftPath
---@field path string The path.
---@field reason string Why, in words for the person.

---@class oi.SessionNew
---@field cwd? string Absolute path of an existing directory; absent: the workspace folder.
---@field model? string As LiteLLM names it; absent: as the settings say.
---@field title? string A title for lists.
---@field profile? string A profile that takes the place of the chosen one: its name in the profiles folder, or its path. It is followed, as the chosen one is.

---@class oi.SessionNewResult
---@field sessionId string The session.

---@class oi.SessionList

---@class oi.SessionListResult
---@field sessions oi.SessionInfo[] The newest first.

---@class oi.SessionOpen
---@field sessionId string The session.
---@field messages? boolean Whether the messages are wanted; a client that has the session replayed from its beginning needs none.

---@class oi.SessionOpenResult
---@field info oi.SessionInfo What a list shows of it.
---@field messages oi.LmcMessage[] Every whole message so far; none where they are not wanted.
---@field nextSeq integer The number of the first chunk that `messages` does not hold.
---@field state oi.SessionState As in `oi/state`.

---@class oi.SessionClose
---@field sessionId string The session.

---@class oi.Nothing

---@class oi.SessionDelete
---@field sessionId string The session.

---@class oi.SessionRename
---@field sessionId string The session.
---@field title string The new title.

---@class oi.SessionExport
---@field sessionId string The session.

---@class oi.SessionExportResult
---@field messages oi.LmcMessage[] Every whole message so far.

---@class oi.SessionUndo
---@field sessionId string The session.
---@field files? boolean Whether to take back, too, what its runs changed on disk (`oi.changes.revert`).
---@field messageId? string A message of an earlier request: that one and all that came after it are taken back; absent: the last.

---@class oi.SessionUndoResult
---@field left? oi.LeftPath[] With `files`: paths that were left as they are.

---@class oi.SessionReset
---@field sessionId string The session.

---@class oi.SessionReplay
---@field sessionId string The session.
---@field afterSeq integer The number of the last chunk that the client has; 0: it has none.

---@class oi.SessionReplayResult
---@field seq integer The `seq` of the notification that comes next; perhaps less than `afterSeq + 1`, never more.

---@class oi.ChatSend
---@field sessionId string The session.
---@field content string|oi.LmcMessage[] Text, or LMC messages of the role `user` and of the type `message`, `image` or `file`.
---@field attachments? oi.Attachment[] What goes with the text; it is part of the stream, and so is shown, before the model is asked. A magic command has no use for them.

---@class oi.ChatSendResult
---@field turnId string The turn that serves it.
---@field queued boolean Whether that turn waits for others to end.

---@class oi.ChatComplete
---@field text string The text before the cursor, from the beginning of the input.
---@field sessionId? string The session that it is written to, in whose working directory paths start; absent: the workspace folder.

---@class oi.ChatCompleteResult
---@field items oi.ChatOffer[] None where the text is no magic command.

---@class oi.ChatStop
---@field sessionId string The session.

---@class oi.ChatStopResult
---@field stopped boolean Whether there was anything to stop.
---@field unsent string[] Messages that were queued and will not be sent, for the person to have back.

---@class oi.CodeApprove
---@field sessionId string The session.
---@field proposalId string The proposal, as in `oi/state`.
---@field code? string The code as edited: what runs, to the byte. Absent: as proposed.
---@field always? boolean|"session"|"here" Whether this very code may run unasked: for the rest of the session (`session`, or true), or in this folder until it is revoked (`here`).

---@class oi.OfTurn
---@field turnId string The turn that goes on.

---@class oi.CodeReject
---@field sessionId string The session.
---@field proposalId string The proposal, as in `oi/state`.
---@field reason? string Told to the model.

---@class oi.CodeScan
---@field sessionId string The session.
---@field proposalId string The proposal, as in `oi/state`.

---@class oi.CodeRun
---@field language string The language, by any of its names.
---@field code string What runs, to the byte.
---@field sessionId? string Absent: the one that this command used last, or else a new one.

---@class oi.CodeRunResult
---@field sessionId string The session that runs it.
---@field turnId string The turn that runs it.
---@field queued boolean Whether that turn waits for others to end.

---@class oi.InputAnswer
---@field sessionId string The session.
---@field inputId string The input, as in `oi/state`.
---@field text string The line, without its newline.

---@class oi.KernelInterrupt
---@field sessionId string The session.
---@field language? string Only if this language runs; absent: whichever does.

---@class oi.KernelRestart
---@field sessionId string The session.
---@field language? string The language; absent: all that run.

---@class oi.SandboxAllow
---@field sessionId string The session.
---@field path? string A file or folder, absolute, that code may write to.
---@field network? boolean Whether it may use the network.

---@class oi.UsageGet
---@field sessionId string The session.

---@class oi.HistoryList
---@field limit? integer How many, from 1 to 500.
---@field after? string `next` of the page before; absent: the first page.

---@class oi.HistoryListResult
---@field conversations oi.Stored[] The one written last first.
---@field next? string For `after` of the next page; absent: there is none.

---@class oi.HistorySearch
---@field query string Words; nothing in it is syntax. The last may be the beginning of one.
---@field limit? integer How many, from 1 to 500.

---@class oi.HistorySearchResult
---@field hits oi.HistoryHit[] The one written last first.

---@class oi.HistoryRead
---@field conversationId string The conversation.
---@field limit? integer How many messages, from 1 to 500.
---@field skip? integer How many of the last ones to leave out.

---@class oi.HistoryReadResult
---@field messages oi.LmcMessage[] In their order.

---@class oi.HistoryRename
---@field conversationId string The conversation.
---@field title string The new title.

---@class oi.HistoryDelete
---@field conversationId string The conversation.

---@class oi.HistoryBranch
---@field conversationId string The conversation.
---@field messageId string The last message that the branch has.
---@field title? string The title of the branch; absent: the same.

---@class oi.StoredResult
---@field conversation oi.Stored The conversation.

---@class oi.HistoryExport
---@field format "json"|"notebook"|"markdown"|"script" `json`: the documented messages. `notebook`: a Jupyter notebook. `script`: the code that ran, a text for each language.
---@field conversationId? string The stored conversation. One of this and `sessionId`.
---@field sessionId? string The session, whether or not it is stored.
---@field path? string Absolute path inside the workspace folder: written there. Of scripts, each has the suffix of its language.
---@field overwrite? boolean Whether a file that is there may be replaced.

---@class oi.HistoryExportResult
---@field files oi.Export[] One; of scripts, one for each language that ran.

---@class oi.HistoryImport
---@field content? string The documented JSON messages, or a Jupyter notebook. One of this and `path`.
---@field path? string Absolute path of a file of either.
---@field title? string A title; absent: from the first request.

---@class oi.SettingsGet
---@field sessionId? string Of this session; absent: those that a new session starts with.

---@class oi.SettingsGetResult
---@field settings table<string, any> Nested by section (`llm.model` is `model` in `llm`); secrets are left out.
---@field values oi.SettingValue[] Each with its origin.

---@class oi.SettingsSet
---@field name string The dotted name, or another documented spelling.
---@field value? any As in a profile; absent: null.
---@field unset? boolean Whether to take back what was set by this command, instead of setting it.
---@field sessionId? string For this session alone; absent: for all.

---@class oi.SettingsSetResult
---@field setting oi.SettingValue The setting now: a workspace may hold it at another value.
---@field problems string[] What there is to say about the setting.

---@class oi.PolicyList

---@class oi.PolicyListResult
---@field approvals oi.PolicyApproval[] All of them.

---@class oi.PolicyRevoke
---@field approvalId string The approval.

---@class oi.KeysSet
---@field keys oi.ProviderKey[] All of the client's.

---@class oi.ModelsList

---@class oi.ModelsListResult
---@field models oi.ModelCandidate[] The best first.

---@class oi.ModelsCatalog

---@class oi.ModelsCatalogResult
---@field models oi.ModelOffer[] Those of this machine first.

---@class oi.ModelsChoose
---@field sessionId string The session.
---@field model string As LiteLLM names it.
---@field apiBase? string The URL of its API; empty: the provider's own; absent: as the settings say.

---@class oi.ModelsChooseResult
---@field model string As LiteLLM names it.
---@field why string A sentence for the person.

---@class oi.PromptGet
---@field sessionId string The session.

---@class oi.PromptGetResult
---@field model string The model, as LiteLLM names it; empty: not chosen yet.
---@field messages table<string, any>[] In the format of OpenAI's chat completions, the system message first.
---@field tools boolean Whether the model is offered the tool `execute`.
---@field languages string[] The languages that it may use.
---@field notices string[] What the person would be told before it is sent: what is left out, and why it would not be sent at all.

---@class oi.DocumentNew
---@field folder? string Absolute path of an existing directory; absent: the workspace folder.

---@class oi.DocumentNewResult
---@field uri string The file, which was written.

---@class oi.DocumentLoad
---@field uri string The document, as the client has it open.
---@field conversationId string The conversation.

---@class oi.DocumentSend
---@field uri string The document, as the client has it open.
---@field text? string Words from an input of the client's, which are put under that heading first, without what they would mean as marks of the document.

---@class oi.Started
---@field sessionId string The session of the chat document.
---@field turnId string The turn that serves it.
---@field queued boolean Whether that turn waits for others to end.

---@class oi.DocumentRun
---@field uri string The document, as the client has it open.
---@field block string The `oi=` of its first line, or the number of that line, counted from 1.

---@class oi.DocumentReject
---@field uri string The document, as the client has it open.
---@field block string The `oi=` of its first line, or the number of that line, counted from 1.
---@field reason? string Told to the model.

---@class oi.DocumentScan
---@field uri string The document, as the client has it open.
---@field block string The `oi=` of its first line, or the number of that line, counted from 1.

---@class oi.DocumentAnswer
---@field uri string The document, as the client has it open.
---@field block string The `oi=` of its first line, or the number of that line, counted from 1.

---@class oi.DocumentStop
---@field uri string The document, as the client has it open.

---@class oi.DocumentStopResult
---@field stopped boolean Whether there was anything to stop.

---@class oi.DocumentRemove
---@field uri string The document, as the client has it open.
---@field answer integer The number of the answer, as in its heading.

---@class oi.SelectionRun
---@field uri string The document, as the client has it open.
---@field range? oi.Range The piece; where it is empty, that line. Absent: the whole file.
---@field sessionId? string The session that runs it. Absent: that of the chat document beside the file; for a client that shows chunks, the one that ran code last, or a new one.

---@class oi.SelectionStarted
---@field sessionId? string The session.
---@field turnId? string The turn that serves it.
---@field queued? boolean Whether that turn waits for others to end.

---@class oi.SelectionAsk
---@field uri string The document, as the client has it open.
---@field range? oi.Range The piece; absent: the whole file.
---@field instruction? string The question.
---@field sessionId? string As of `oi.selection.run`.

---@class oi.DiagnosticExplain
---@field uri string The document, as the client has it open.
---@field range oi.Range Where the problem is.
---@field message string What the editor says of it.
---@field sessionId? string As of `oi.selection.run`.

---@class oi.SelectionEdit
---@field uri string The document, as the client has it open.
---@field instruction string What is to be done.
---@field range? oi.Range The piece; every line counts that it has something of. Absent: the whole file, or a new one where there is none.
---@field sessionId? string The session whose model edits, and which counts the cost; absent: the model of the settings.

---@class oi.SelectionEditResult
---@field editId string The edit.

---@class oi.EditAccept
---@field editId string The edit.
---@field hunkId? string Absent: every hunk that is open, one after another.

---@class oi.EditRemaining
---@field remaining integer How many hunks are open, those left out that are about to be written.

---@class oi.EditReject
---@field editId string The edit.
---@field hunkId? string Absent: every hunk that is not accepted.

---@class oi.EditStop
---@field editId string The edit.

---@class oi.EditStopResult
---@field stopped boolean Whether a reply was under way.

---@class oi.ChangesList
---@field sessionId string The session.

---@class oi.ChangesListResult
---@field changes oi.Changes[] The oldest first.

---@class oi.ChangesDiff
---@field sessionId string The session.
---@field changeId string The change.
---@field path? string This path alone; absent: all.

---@class oi.ChangesDiffResult
---@field files oi.FileDifference[] By path.

---@class oi.ChangesRead
---@field sessionId string The session.
---@field changeId string The change.
---@field path string The path.

---@class oi.ChangesReadResult
---@field before? string Before; absent: there was no such file.
---@field after? string After; absent: there is no such file.

---@class oi.ChangesRevert
---@field sessionId string The session.
---@field changeId string The change.
---@field path? string This path alone; absent: all.
---@field hunkId? string This hunk of the path alone.

---@class oi.ChangesRevertResult
---@field reverted? oi.Changes What was written, which can be taken back itself; absent: nothing, since all was as before or was left.
---@field left? oi.LeftPath[] What was not taken back.

---@class oi.Chunks
---@field sessionId string The session.
---@field turnId string The turn that all of these chunks belong to; empty before the first turn.
---@field seq integer The number of the first chunk; a session's chunks are numbered from 1.
---@field nextSeq integer The number of the chunk after the last: the `seq` that the next notification should have.
---@field chunks oi.LmcChunk[] LMC chunks. There may be fewer than `nextSeq - seq`.
---@field replay? boolean True where some of these chunks were sent before.

---@class oi.DocumentState
---@field uri string The document.
---@field sessionId string Its session.
---@field state "idle"|"thinking"|"awaiting_approval"|"running"|"awaiting_input"|"stopping" As in `oi/state`.
---@field blocks oi.BlockState[] Those with which it is otherwise than was told before.
---@field question? oi.DocumentQuestion What a program waits for.
---@field waiting? integer How many messages wait for their turn.
---@field promptTokens? integer Tokens that the model read so far.
---@field completionTokens? integer Tokens that the model wrote so far.
---@field cost? number US dollars so far; absent where no price is known.

---@class oi.EditState
---@field editId string The edit.
---@field uri string The document.
---@field state "streaming"|"complete"|"failed" Whether the model is still writing. What had arrived before it failed can be accepted.
---@field hunks oi.EditHunk[] In the order of the document.
---@field version? integer The document's version that the ranges are for; absent for a new file.
---@field comment? string What the model said beside its edit.
---@field error? string What went wrong.
---@field cost? number What the reply has cost, in US dollars; absent where it is not known.

---The commands that there are.
---@type table<string, true>
M.commands = {
  ["oi.session.new"] = true,
  ["oi.session.list"] = true,
  ["oi.session.open"] = true,
  ["oi.session.close"] = true,
  ["oi.session.delete"] = true,
  ["oi.session.rename"] = true,
  ["oi.session.export"] = true,
  ["oi.session.undo"] = true,
  ["oi.session.reset"] = true,
  ["oi.session.replay"] = true,
  ["oi.chat.send"] = true,
  ["oi.chat.complete"] = true,
  ["oi.chat.stop"] = true,
  ["oi.code.approve"] = true,
  ["oi.code.reject"] = true,
  ["oi.code.scan"] = true,
  ["oi.code.run"] = true,
  ["oi.input.answer"] = true,
  ["oi.kernel.interrupt"] = true,
  ["oi.kernel.restart"] = true,
  ["oi.sandbox.allow"] = true,
  ["oi.usage.get"] = true,
  ["oi.history.list"] = true,
  ["oi.history.search"] = true,
  ["oi.history.read"] = true,
  ["oi.history.rename"] = true,
  ["oi.history.delete"] = true,
  ["oi.history.branch"] = true,
  ["oi.history.export"] = true,
  ["oi.history.import"] = true,
  ["oi.settings.get"] = true,
  ["oi.settings.set"] = true,
  ["oi.policy.list"] = true,
  ["oi.policy.revoke"] = true,
  ["oi.keys.set"] = true,
  ["oi.models.list"] = true,
  ["oi.models.catalog"] = true,
  ["oi.models.choose"] = true,
  ["oi.prompt.get"] = true,
  ["oi.document.new"] = true,
  ["oi.document.load"] = true,
  ["oi.document.send"] = true,
  ["oi.document.run"] = true,
  ["oi.document.reject"] = true,
  ["oi.document.scan"] = true,
  ["oi.document.answer"] = true,
  ["oi.document.stop"] = true,
  ["oi.document.remove"] = true,
  ["oi.selection.run"] = true,
  ["oi.selection.ask"] = true,
  ["oi.diagnostic.explain"] = true,
  ["oi.selection.edit"] = true,
  ["oi.edit.accept"] = true,
  ["oi.edit.reject"] = true,
  ["oi.edit.stop"] = true,
  ["oi.changes.list"] = true,
  ["oi.changes.diff"] = true,
  ["oi.changes.read"] = true,
  ["oi.changes.revert"] = true,
}

---@type table<string, true>
M.notifications = {
  ["oi/chunks"] = true,
  ["oi/state"] = true,
  ["oi/document"] = true,
  ["oi/edit"] = true,
}

---@enum oi.ErrorCode
M.errors = {
  PARSE_ERROR = -32700,
  INVALID_REQUEST = -32600,
  METHOD_NOT_FOUND = -32601,
  INVALID_PARAMS = -32602,
  INTERNAL_ERROR = -32603,
  NOT_INITIALIZED = -32002,
  REFUSED = 1000,
  UNKNOWN_SESSION = 1001,
  UNKNOWN_PROPOSAL = 1002,
  UNKNOWN_INPUT = 1003,
  SESSION_BUSY = 1004,
  UNKNOWN_CONVERSATION = 1005,
  TIMED_OUT = 1006,
}

return M
