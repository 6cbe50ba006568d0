// Made from oi_lsp/protocol*.py by `python -m oi_lsp.mirrors.typescript`: change it there.

/** The version of the protocol that these types are of. */
export const VERSION = 1;

/** A whole LMC message, in its documented form, with what is added here. */
export interface LmcMessage {
  role: "user" | "assistant" | "computer" | "server";
  type: string;
  format?: string;
  recipient?: "user" | "assistant";
  content: unknown;
  id?: string;
  created_at?: string;
  parent?: string;
}

/** An LMC chunk: `start`, `end` or `content`. */
export interface LmcChunk {
  role: "user" | "assistant" | "computer" | "server";
  type: string;
  format?: string;
  recipient?: "user" | "assistant";
  content?: unknown;
  start?: true;
  end?: true;
  id?: string;
  created_at?: string;
  parent?: string;
  line?: number;
  failure?: { line: number; column?: number; end_line?: number; end_column?: number; name: string; message: string };
}

/** What goes with a message. */
export type Attachment = FileAttachment | TextAttachment | LmcMessage;

/** The ``data`` of an error. */
export interface ErrorData {
  /** The field that it is about, as a path: `sessionId`, `content[0].role`. */
  field?: string;
  /** What to do about it, for the person. */
  remedy?: string;
}

/** Code that waits for the person's decision. */
export interface Proposal {
  /** For `oi.code.approve` and `oi.code.reject`. */
  id: string;
  /** Canonical name of the language. */
  language: string;
  /** What will run, to the byte. */
  code: string;
  /** What the scanner and the policy say of it; absent: nothing. */
  findings?: string[];
  /** The code with what cannot be seen, or reorders text, written out: to be shown in its place, never to be sent back. Absent: there is nothing of that kind. */
  shown?: string;
  /** What the eye would miss: such characters, letters that imitate others, very long lines. A sentence each. */
  hidden?: string[];
}

/** A program's question: it waits for a line. */
export interface Input {
  /** For `oi.input.answer`. */
  id: string;
  /** What the program printed before it waited; may be empty. */
  prompt: string;
  /** Whether what is typed must not be shown. */
  password: boolean;
}

/** A message that was sent in mid-turn and waits for its own turn. */
export interface Queued {
  /** The turn that will serve it. */
  turnId: string;
  /** The message in words. */
  text: string;
}

/** What the replies of one turn cost. */
export interface TurnUsage {
  /** Tokens that the model read. */
  promptTokens: number;
  /** Tokens that the model wrote. */
  completionTokens: number;
  /** US dollars; absent where no price is known. */
  cost?: number;
}

/** What a session's replies cost so far. */
export interface Usage {
  /** Tokens that the model read. */
  promptTokens: number;
  /** Tokens that the model wrote. */
  completionTokens: number;
  /** US dollars; absent where no price is known. */
  cost?: number;
  /** Of these, those of the turn under way, or of the last one; absent where it cost nothing. */
  turn?: TurnUsage;
}

/** One session, in a list. */
export interface SessionInfo {
  /** The session. */
  sessionId: string;
  /** Its title; may be empty. */
  title: string;
  /** The working directory of its kernels. */
  cwd: string;
  /** ISO 8601, UTC. */
  createdAt: string;
  /** As in `oi/state`. */
  state: "idle" | "thinking" | "awaiting_approval" | "running" | "awaiting_input" | "stopping";
  /** Whether it was closed: it can be read and deleted. */
  closed: boolean;
}

/** What a front end shows around a session's stream. Sent after every change, and once for a new session. Several changes in quick succession are sent as one. To a client that reads slowly, a state may arrive before the chunks that led to it. */
export interface SessionState {
  /** The session. */
  sessionId: string;
  /** What goes on. */
  state: "idle" | "thinking" | "awaiting_approval" | "running" | "awaiting_input" | "stopping";
  /** The turn under way; absent in `idle`. */
  turnId?: string;
  /** What waits for a decision; present in `awaiting_approval` alone. */
  proposal?: Proposal;
  /** What the program waits for; present in `awaiting_input` alone. */
  input?: Input;
  /** Messages that wait for their turn, the next one first. */
  queue?: Queued[];
  /** Tokens and cost so far. */
  usage?: Usage;
  /** The model that answers, as LiteLLM names it; absent: not chosen yet. */
  model?: string;
}

/** One way to go on. */
export interface ChatOffer {
  /** What stands in the input then, in the place of the text before the cursor. */
  text: string;
  /** What that does, in a sentence or two. */
  help: string;
}

/** What is known of a stored conversation beside its messages. */
export interface Stored {
  /** The conversation: the id of the session that goes on with it, if one does. */
  conversationId: string;
  /** Its title; may be empty. */
  title: string;
  /** The working directory of its kernels. */
  cwd: string;
  /** ISO 8601, UTC. */
  createdAt: string;
  /** When it was last written to. ISO 8601, UTC. */
  updatedAt: string;
  /** How many messages it has. */
  length: number;
  /** Whether a session of this server goes on with it. */
  open: boolean;
  /** The conversation that it was branched from, which may be gone. */
  parent?: string;
}

/** A piece of a text, in UTF-16 code units. */
export interface Span {
  /** Where it begins. */
  start: number;
  /** Where it has ended. */
  end: number;
}

/** A conversation that was found. */
export interface HistoryHit {
  /** The conversation. */
  conversation: Stored;
  /** A line of the message, or the title. */
  snippet: string;
  /** Where in `snippet` the words are. */
  spans: Span[];
  /** Which message it is, counted from 0; absent: the title. */
  position?: number;
}

/** One text of an export. */
export interface Export {
  /** A name for its file. */
  name: string;
  /** The text; absent where it was written into a file. */
  text?: string;
  /** The file that it was written into. */
  path?: string;
}

/** Code that was approved *always here*. */
export interface PolicyApproval {
  /** Of the approval. */
  id: string;
  /** The language. */
  language: string;
  /** The beginning of the code, on one line, without keys. */
  begins: string;
  /** The folder in which it holds. */
  folder: string;
  /** The sandbox in which it holds; `off`: outside of any. */
  sandbox: string;
  /** When: ISO 8601, UTC. */
  approvedAt: string;
}

/** One setting: its value and where that is from. */
export interface SettingValue {
  /** The dotted name. */
  name: string;
  /** The value in force; absent: null, or a secret. */
  value?: unknown;
  /** True for a secret, whose value is not told. */
  secret?: boolean;
  /** `defaults`, `default profile`, `workspace`, `profile`, `environment`, `editor` or `session`. */
  origin?: string;
  /** The file that sets it. */
  where?: string;
  /** The line of that file, counted from 1. */
  line?: number;
}

/** A model that can be chosen. */
export interface ModelCandidate {
  /** As LiteLLM names it. */
  model: string;
  /** The variable that holds the key, or the name of the server on this machine. */
  source: string;
  /** A sentence for the person. */
  why: string;
  /** The URL of its API; empty: the provider's own. */
  apiBase: string;
}

/** A model, and what is known of it; what is absent is not known. Sizes in tokens, prices in US dollars a token. */
export interface ModelOffer {
  /** As LiteLLM names it. */
  model: string;
  /** LiteLLM's name of the provider, or the local server's. */
  provider: string;
  /** Whether it runs on this machine. */
  local: boolean;
  /** The URL of its API; absent: the provider's own. */
  apiBase?: string;
  /** What it can read. */
  contextWindow?: number;
  /** What it can write in one reply. */
  maxOutputTokens?: number;
  /** Of a token that it reads. */
  inputPrice?: number;
  /** Of a token that it writes. */
  outputPrice?: number;
  /** Whether it calls tools. */
  tools?: boolean;
  /** Whether it sees images. */
  vision?: boolean;
}

/** A key of a provider of models. */
export interface ProviderKey {
  /** The environment variable that LiteLLM reads it from, such as `OPENAI_API_KEY`. */
  name: string;
  /** The key, in ASCII. */
  key: string;
}

/** A place in a text, as LSP has it. */
export interface Position {
  /** The line, counted from 0. */
  line: number;
  /** UTF-16 code units before it in that line. */
  character: number;
}

/** A piece of a text, as LSP has it: characters are counted in the position encoding that `initialize` chose. */
export interface Range {
  /** Where it begins. */
  start: Position;
  /** Where it has ended. */
  end: Position;
}

/** A file on disk, or a piece of it: text in UTF-8, or an image (PNG or JPEG), as it is when the command comes. What an editor has not saved is for a `TextAttachment`. */
export interface FileAttachment {
  /** Its `file:` URI. It may lie outside the workspace: naming it is the permission. */
  uri: string;
  /** The piece; absent: all of it. */
  range?: Range;
}

/** A text that the editor has. */
export interface TextAttachment {
  /** The text. */
  text: string;
  /** What it is, in a line. */
  title: string;
}

/** What goes on with a block of code, or came of it. */
export interface BlockState {
  /** The `oi=` of its first line. */
  block: string;
  /** `proposed`: it waits for `oi.document.run` or `oi.document.reject`. `rejected`: it waited, and did not run. */
  state: "proposed" | "running" | "done" | "failed" | "stopped" | "rejected";
  /** The line of it that runs, counted from 1. */
  line?: number;
  /** How long it ran. */
  seconds?: number;
  /** Of `proposed`: for `oi.code.scan`. */
  proposalId?: string;
  /** Of `proposed`: the code as the model wrote it. */
  code?: string;
  /** Of `proposed`: what the scanner and the policy say of it. */
  findings?: string[];
  /** The end of its output whose line has not ended, as a terminal would show it: a progress bar, say. It is not in the document yet. */
  unended?: string;
  /** What it changed on disk, for `oi.changes.diff`. */
  changeId?: string;
}

/** A program in a chat document waits for a line. */
export interface DocumentQuestion {
  /** For `oi.input.answer`. */
  inputId: string;
  /** The input block, for `oi.document.answer`. */
  block: string;
  /** What the program printed before it waited; may be empty. */
  prompt: string;
  /** Whether what is typed must not be shown: then not into the document. */
  password: boolean;
}

/** Some lines of a document that would become others. */
export interface EditHunk {
  /** The hunk, within its edit. */
  id: string;
  /** `pending`: it is about to be written. `stale`: the document was changed there, so that it no longer fits; it fits again when that is undone. */
  state: "proposed" | "pending" | "accepted" | "rejected" | "stale";
  /** What is there; empty for an insertion. */
  old: string;
  /** What would be there; empty for a deletion. */
  new: string;
  /** Where `old` is (once accepted, `new`), in whole lines; absent where it is no more. */
  range?: Range;
}

/** One path that was changed. */
export interface ChangedFile {
  /** Relative to the session's folder; a byte that is no UTF-8 is `\xff`, and a folder ends with `/`. */
  path: string;
  /** `mode`: its permissions alone. */
  kind: "added" | "deleted" | "modified" | "mode";
  /** What is there, or was there last. */
  what: "file" | "folder" | "link";
  /** Bytes of that. */
  size: number;
  /** Why it can be neither shown nor taken back: it is too large, say. */
  why?: string;
}

/** What one run, or one revert, changed. */
export interface Changes {
  /** Its id, as in the chunk of the format `changes`. */
  changeId: string;
  /** ISO 8601, UTC. */
  createdAt: string;
  /** By path. */
  files: ChangedFile[];
  /** The id of the code message that ran. */
  parent?: string;
  /** What was taken back; absent: a run changed this. */
  reverts?: string;
}

/** Lines of a file that were changed. */
export interface ChangeHunk {
  /** Its id within the file's change. */
  hunkId: string;
  /** The first of the old lines, counted from 0; where `old` is empty, the line that `new` is before. */
  start: number;
  /** The lines before, with their ends; what is no UTF-8 is `�`. */
  old: string;
  /** The lines after. */
  new: string;
}

/** The difference of one path. */
export interface FileDifference {
  /** The path. */
  file: ChangedFile;
  /** In order; none of what has no lines: folders, permissions, binary files. */
  hunks: ChangeHunk[];
  /** Why there are no hunks, where that is not clear from the file. */
  why?: string;
  /** Whether it is no text. */
  binary?: boolean;
}

/** A path that was left as it is. */
export interface LeftPath {
  /** The path. */
  path: string;
  /** Why, in words for the person. */
  reason: string;
}

/** Open a session. Its kernels start when code first runs. */
export interface SessionNew {
  /** Absolute path of an existing directory; absent: the workspace folder. */
  cwd?: string;
  /** As LiteLLM names it; absent: as the settings say. */
  model?: string;
  /** A title for lists. */
  title?: string;
  /** A profile that takes the place of the chosen one: its name in the profiles folder, or its path. It is followed, as the chosen one is. */
  profile?: string;
}

/** A new session. */
export interface SessionNewResult {
  /** The session. */
  sessionId: string;
}

/** List all sessions, the newest first. */
export type SessionList = Record<string, never>;

/** All sessions. */
export interface SessionListResult {
  /** The newest first. */
  sessions: SessionInfo[];
}

/** Read a session: what a front end needs to show it and to follow it from there. A stored conversation that no session goes on with is opened: its id becomes the session's. */
export interface SessionOpen {
  /** The session. */
  sessionId: string;
  /** Whether the messages are wanted; a client that has the session replayed from its beginning needs none. */
  messages?: boolean;
}

/** A session as it is now. */
export interface SessionOpenResult {
  /** What a list shows of it. */
  info: SessionInfo;
  /** Every whole message so far; none where they are not wanted. */
  messages: LmcMessage[];
  /** The number of the first chunk that `messages` does not hold. */
  nextSeq: number;
  /** As in `oi/state`. */
  state: SessionState;
}

/** End a session's turn and its kernels. What waits for a decision is refused. The conversation can be read. */
export interface SessionClose {
  /** The session. */
  sessionId: string;
}

/** An empty object. */
export type Nothing = Record<string, never>;

/** Close a session and take it off the list. What is stored of it stays: see `oi.history.delete`. */
export interface SessionDelete {
  /** The session. */
  sessionId: string;
}

/** Give a session another title. */
export interface SessionRename {
  /** The session. */
  sessionId: string;
  /** The new title. */
  title: string;
}

/** The conversation as LMC messages. */
export interface SessionExport {
  /** The session. */
  sessionId: string;
}

/** A conversation. */
export interface SessionExportResult {
  /** Every whole message so far. */
  messages: LmcMessage[];
}

/** Take back the last request and all that came of it. The stream says so with a command chunk, `undo`. */
export interface SessionUndo {
  /** The session. */
  sessionId: string;
  /** Whether to take back, too, what its runs changed on disk (`oi.changes.revert`). */
  files?: boolean;
  /** A message of an earlier request: that one and all that came after it are taken back; absent: the last. */
  messageId?: string;
}

/** What was not taken back. */
export interface SessionUndoResult {
  /** With `files`: paths that were left as they are. */
  left?: LeftPath[];
}

/** Begin the conversation anew; kernels keep their state. The stream says so with a command chunk, `reset`. */
export interface SessionReset {
  /** The session. */
  sessionId: string;
}

/** Send the chunks after a number again, and go on from there. */
export interface SessionReplay {
  /** The session. */
  sessionId: string;
  /** The number of the last chunk that the client has; 0: it has none. */
  afterSeq: number;
}

/** Where the replay begins. */
export interface SessionReplayResult {
  /** The `seq` of the notification that comes next; perhaps less than `afterSeq + 1`, never more. */
  seq: number;
}

/** Ask the model. In mid-turn the message is queued, which `oi/state` shows. A text that begins with `%` is a magic command and goes to no model: see *Magic commands*. */
export interface ChatSend {
  /** The session. */
  sessionId: string;
  /** Text, or LMC messages of the role `user` and of the type `message`, `image` or `file`. */
  content: string | LmcMessage[];
  /** What goes with the text; it is part of the stream, and so is shown, before the model is asked. A magic command has no use for them. */
  attachments?: Attachment[];
}

/** The message was taken. */
export interface ChatSendResult {
  /** The turn that serves it. */
  turnId: string;
  /** Whether that turn waits for others to end. */
  queued: boolean;
}

/** How a text in a chat input may go on: the magic commands, settings and paths that begin like that. */
export interface ChatComplete {
  /** The text before the cursor, from the beginning of the input. */
  text: string;
  /** The session that it is written to, in whose working directory paths start; absent: the workspace folder. */
  sessionId?: string;
}

/** The ways to go on. */
export interface ChatCompleteResult {
  /** None where the text is no magic command. */
  items: ChatOffer[];
}

/** Stop whatever goes on; variables in the kernels are kept. */
export interface ChatStop {
  /** The session. */
  sessionId: string;
}

/** What the stop did. */
export interface ChatStopResult {
  /** Whether there was anything to stop. */
  stopped: boolean;
  /** Messages that were queued and will not be sent, for the person to have back. */
  unsent: string[];
}

/** Run the proposed code, or the code as the person edited it. */
export interface CodeApprove {
  /** The session. */
  sessionId: string;
  /** The proposal, as in `oi/state`. */
  proposalId: string;
  /** The code as edited: what runs, to the byte. Absent: as proposed. */
  code?: string;
  /** Whether this very code may run unasked: for the rest of the session (`session`, or true), or in this folder until it is revoked (`here`). */
  always?: boolean | "session" | "here";
}

/** Which turn a decision belongs to. */
export interface OfTurn {
  /** The turn that goes on. */
  turnId: string;
}

/** Do not run the proposed code; the model is told. */
export interface CodeReject {
  /** The session. */
  sessionId: string;
  /** The proposal, as in `oi/state`. */
  proposalId: string;
  /** Told to the model. */
  reason?: string;
}

/** Scan the proposed code before deciding. What is found comes as a `review` message, and in `oi/state`. */
export interface CodeScan {
  /** The session. */
  sessionId: string;
  /** The proposal, as in `oi/state`. */
  proposalId: string;
}

/** Run the person's own code. Sending it is the approval. */
export interface CodeRun {
  /** The language, by any of its names. */
  language: string;
  /** What runs, to the byte. */
  code: string;
  /** Absent: the one that this command used last, or else a new one. */
  sessionId?: string;
}

/** The code was taken. */
export interface CodeRunResult {
  /** The session that runs it. */
  sessionId: string;
  /** The turn that runs it. */
  turnId: string;
  /** Whether that turn waits for others to end. */
  queued: boolean;
}

/** Give the waiting program its line. */
export interface InputAnswer {
  /** The session. */
  sessionId: string;
  /** The input, as in `oi/state`. */
  inputId: string;
  /** The line, without its newline. */
  text: string;
}

/** Interrupt the running program; the turn goes on and the model sees what came of it. */
export interface KernelInterrupt {
  /** The session. */
  sessionId: string;
  /** Only if this language runs; absent: whichever does. */
  language?: string;
}

/** End a kernel, so that the next run starts a fresh one; its variables are gone. */
export interface KernelRestart {
  /** The session. */
  sessionId: string;
  /** The language; absent: all that run. */
  language?: string;
}

/** Have the sandbox allow more, until the session ends. What runs in it starts afresh at its next run, and its variables are gone then; the stream says so. After a run in which the sandbox seems to have stopped something, the stream has a message for the person, and then, for a client that offers it, `{"role": "computer", "type": "command", "format": "denied", "parent": the code's id, "content": {"paths": [text], "network": truth}}`: what of it one may simply allow. */
export interface SandboxAllow {
  /** The session. */
  sessionId: string;
  /** A file or folder, absolute, that code may write to. */
  path?: string;
  /** Whether it may use the network. */
  network?: boolean;
}

/** What a session cost so far, and its last turn. */
export interface UsageGet {
  /** The session. */
  sessionId: string;
}

/** List stored conversations, the one written last first. */
export interface HistoryList {
  /** How many, from 1 to 500. */
  limit?: number;
  /** `next` of the page before; absent: the first page. */
  after?: string;
}

/** A page of the list. */
export interface HistoryListResult {
  /** The one written last first. */
  conversations: Stored[];
  /** For `after` of the next page; absent: there is none. */
  next?: string;
}

/** Find conversations that have all words in one message, or in the title. */
export interface HistorySearch {
  /** Words; nothing in it is syntax. The last may be the beginning of one. */
  query: string;
  /** How many, from 1 to 500. */
  limit?: number;
}

/** What was found. */
export interface HistorySearchResult {
  /** The one written last first. */
  hits: HistoryHit[];
}

/** Read the end of a stored conversation, or what comes before that, without opening it. */
export interface HistoryRead {
  /** The conversation. */
  conversationId: string;
  /** How many messages, from 1 to 500. */
  limit?: number;
  /** How many of the last ones to leave out. */
  skip?: number;
}

/** Messages of a stored conversation. */
export interface HistoryReadResult {
  /** In their order. */
  messages: LmcMessage[];
}

/** Give a stored conversation another title. */
export interface HistoryRename {
  /** The conversation. */
  conversationId: string;
  /** The new title. */
  title: string;
}

/** Delete a conversation for good. A session that goes on with it is closed and taken off the list first. */
export interface HistoryDelete {
  /** The conversation. */
  conversationId: string;
}

/** Make a new conversation that is this one up to and including a message. `oi.session.open` goes on with it. */
export interface HistoryBranch {
  /** The conversation. */
  conversationId: string;
  /** The last message that the branch has. */
  messageId: string;
  /** The title of the branch; absent: the same. */
  title?: string;
}

/** A conversation that was made. */
export interface StoredResult {
  /** The conversation. */
  conversation: Stored;
}

/** Write a conversation in another form: as text in the answer, or into a file. */
export interface HistoryExport {
  /** `json`: the documented messages. `notebook`: a Jupyter notebook. `script`: the code that ran, a text for each language. */
  format: "json" | "notebook" | "markdown" | "script";
  /** The stored conversation. One of this and `sessionId`. */
  conversationId?: string;
  /** The session, whether or not it is stored. */
  sessionId?: string;
  /** Absolute path inside the workspace folder: written there. Of scripts, each has the suffix of its language. */
  path?: string;
  /** Whether a file that is there may be replaced. */
  overwrite?: boolean;
}

/** What was exported. */
export interface HistoryExportResult {
  /** One; of scripts, one for each language that ran. */
  files: Export[];
}

/** Store a conversation that comes from elsewhere. `oi.session.open` goes on with it. */
export interface HistoryImport {
  /** The documented JSON messages, or a Jupyter notebook. One of this and `path`. */
  content?: string;
  /** Absolute path of a file of either. */
  path?: string;
  /** A title; absent: from the first request. */
  title?: string;
}

/** The settings in force. */
export interface SettingsGet {
  /** Of this session; absent: those that a new session starts with. */
  sessionId?: string;
}

/** Settings in the shape of a profile, and one by one. */
export interface SettingsGetResult {
  /** Nested by section (`llm.model` is `model` in `llm`); secrets are left out. */
  settings: Record<string, unknown>;
  /** Each with its origin. */
  values: SettingValue[];
}

/** Set a setting until the server ends. No file is written. It is the person's own word: it may loosen safety, but not what a workspace has made stricter. */
export interface SettingsSet {
  /** The dotted name, or another documented spelling. */
  name: string;
  /** As in a profile; absent: null. */
  value?: unknown;
  /** Whether to take back what was set by this command, instead of setting it. */
  unset?: boolean;
  /** For this session alone; absent: for all. */
  sessionId?: string;
}

/** What came of it. */
export interface SettingsSetResult {
  /** The setting now: a workspace may hold it at another value. */
  setting: SettingValue;
  /** What there is to say about the setting. */
  problems: string[];
}

/** What was approved *always here*, in any folder. */
export type PolicyList = Record<string, never>;

/** The approvals, the oldest first. */
export interface PolicyListResult {
  /** All of them. */
  approvals: PolicyApproval[];
}

/** Have code asked about again. */
export interface PolicyRevoke {
  /** The approval. */
  approvalId: string;
}

/** Hand keys to the process that talks to providers, from the next request on: these, in the place of those that this command gave before. Keys of the server's environment stay, but for those of the same name. Kernels go on, with their variables, and never see these keys; they are in no environment, log, history or answer. A client sends this again whenever the server was started. Sessions that had found no model, or whose model was found by a key that is gone, choose anew. */
export interface KeysSet {
  /** All of the client's. */
  keys: ProviderKey[];
}

/** List the models that were found: one for each provider key, and those of model servers on this machine. */
export type ModelsList = Record<string, never>;

/** The models that were found. */
export interface ModelsListResult {
  /** The best first. */
  models: ModelCandidate[];
}

/** List all models that can be chosen now, with what is known of each. Starts the model worker. */
export type ModelsCatalog = Record<string, never>;

/** The models. */
export interface ModelsCatalogResult {
  /** Those of this machine first. */
  models: ModelOffer[];
}

/** Have another model answer from the next request on. */
export interface ModelsChoose {
  /** The session. */
  sessionId: string;
  /** As LiteLLM names it. */
  model: string;
  /** The URL of its API; empty: the provider's own; absent: as the settings say. */
  apiBase?: string;
}

/** The model that answers. */
export interface ModelsChooseResult {
  /** As LiteLLM names it. */
  model: string;
  /** A sentence for the person. */
  why: string;
}

/** Exactly what the next request would tell the model, but for what the person writes until then. Nothing is sent. What would no longer fit is left out, with the summary that there is; images are as they are sent. */
export interface PromptGet {
  /** The session. */
  sessionId: string;
}

/** A request, without its key. */
export interface PromptGetResult {
  /** The model, as LiteLLM names it; empty: not chosen yet. */
  model: string;
  /** In the format of OpenAI's chat completions, the system message first. */
  messages: Record<string, unknown>[];
  /** Whether the model is offered the tool `execute`. */
  tools: boolean;
  /** The languages that it may use. */
  languages: string[];
  /** What the person would be told before it is sent: what is left out, and why it would not be sent at all. */
  notices: string[];
}

/** Make a chat document, and have the client show it. */
export interface DocumentNew {
  /** Absolute path of an existing directory; absent: the workspace folder. */
  folder?: string;
}

/** A new chat document. */
export interface DocumentNewResult {
  /** The file, which was written. */
  uri: string;
}

/** Write a stored conversation into a chat document that says nothing yet, and go on with it there. */
export interface DocumentLoad {
  /** The document, as the client has it open. */
  uri: string;
  /** The conversation. */
  conversationId: string;
}

/** Send what is written under the last heading of a chat document. The answer is written into the document. */
export interface DocumentSend {
  /** The document, as the client has it open. */
  uri: string;
  /** Words from an input of the client's, which are put under that heading first, without what they would mean as marks of the document. */
  text?: string;
}

/** What was started. */
export interface Started {
  /** The session of the chat document. */
  sessionId: string;
  /** The turn that serves it. */
  turnId: string;
  /** Whether that turn waits for others to end. */
  queued: boolean;
}

/** Run a block of code as it stands in the document. For a proposed one that is the approval. */
export interface DocumentRun {
  /** The document, as the client has it open. */
  uri: string;
  /** The `oi=` of its first line, or the number of that line, counted from 1. */
  block: string;
}

/** Do not run a proposed block; the model is told. */
export interface DocumentReject {
  /** The document, as the client has it open. */
  uri: string;
  /** The `oi=` of its first line, or the number of that line, counted from 1. */
  block: string;
  /** Told to the model. */
  reason?: string;
}

/** Scan a proposed block as it stands in the document. What is found comes as a `review` message, and as diagnostics on the block. */
export interface DocumentScan {
  /** The document, as the client has it open. */
  uri: string;
  /** The `oi=` of its first line, or the number of that line, counted from 1. */
  block: string;
}

/** Give the waiting program what is written in its input block. */
export interface DocumentAnswer {
  /** The document, as the client has it open. */
  uri: string;
  /** The `oi=` of its first line, or the number of that line, counted from 1. */
  block: string;
}

/** Stop whatever goes on in a chat document; variables in the kernels are kept. */
export interface DocumentStop {
  /** The document, as the client has it open. */
  uri: string;
}

/** What the stop did. */
export interface DocumentStopResult {
  /** Whether there was anything to stop. */
  stopped: boolean;
}

/** Take an answer out of a chat document, in one edit. */
export interface DocumentRemove {
  /** The document, as the client has it open. */
  uri: string;
  /** The number of the answer, as in its heading. */
  answer: number;
}

/** Run a piece of a file, or all of it, as the editor has it; a file that is not open, as it is on disk. Sending it is the approval. Where the file is open, output and errors are shown in it as inlay hints and diagnostics. */
export interface SelectionRun {
  /** The document, as the client has it open. */
  uri: string;
  /** The piece; where it is empty, that line. Absent: the whole file. */
  range?: Range;
  /** The session that runs it. Absent: that of the chat document beside the file; for a client that shows chunks, the one that ran code last, or a new one. */
  sessionId?: string;
}

/** What was started. All of it is absent where a chat document has to be opened first. */
export interface SelectionStarted {
  /** The session. */
  sessionId?: string;
  /** The turn that serves it. */
  turnId?: string;
  /** Whether that turn waits for others to end. */
  queued?: boolean;
}

/** Ask the model about a piece of a file. With an instruction it is sent; without one it is put under the last heading of the chat document, for the person to go on writing. In a session, and for a client that shows chunks, there must be one. */
export interface SelectionAsk {
  /** The document, as the client has it open. */
  uri: string;
  /** The piece; absent: the whole file. */
  range?: Range;
  /** The question. */
  instruction?: string;
  /** As of `oi.selection.run`. */
  sessionId?: string;
}

/** Ask the model to explain a problem that is shown in a file. The code around is sent with it. */
export interface DiagnosticExplain {
  /** The document, as the client has it open. */
  uri: string;
  /** Where the problem is. */
  range: Range;
  /** What the editor says of it. */
  message: string;
  /** As of `oi.selection.run`. */
  sessionId?: string;
}

/** Have the model edit a piece of a file that is open, or write a new file. See *Inline edits*. */
export interface SelectionEdit {
  /** The document, as the client has it open. */
  uri: string;
  /** What is to be done. */
  instruction: string;
  /** The piece; every line counts that it has something of. Absent: the whole file, or a new one where there is none. */
  range?: Range;
  /** The session whose model edits, and which counts the cost; absent: the model of the settings. */
  sessionId?: string;
}

/** The edit was begun. */
export interface SelectionEditResult {
  /** The edit. */
  editId: string;
}

/** Write a hunk into the document, as one step to undo; a new file is written to the disk. Hunks that were accepted before go first. */
export interface EditAccept {
  /** The edit. */
  editId: string;
  /** Absent: every hunk that is open, one after another. */
  hunkId?: string;
}

/** What is left to decide. */
export interface EditRemaining {
  /** How many hunks are open, those left out that are about to be written. */
  remaining: number;
}

/** Do not change those lines. Without a hunk, nothing more of the edit is wanted: its stream ends too. */
export interface EditReject {
  /** The edit. */
  editId: string;
  /** Absent: every hunk that is not accepted. */
  hunkId?: string;
}

/** End the model's reply. What has arrived of it can still be accepted. */
export interface EditStop {
  /** The edit. */
  editId: string;
}

/** What the stop did. */
export interface EditStopResult {
  /** Whether a reply was under way. */
  stopped: boolean;
}

/** List what runs of a session changed on disk, the oldest first. After a run that changed something, the stream has `{"role": "computer", "type": "command", "format": "changes", "parent": the code's id, "content": {"id", "files", "more"}}`, and a message for the person before it. */
export interface ChangesList {
  /** The session. */
  sessionId: string;
}

/** What was changed. */
export interface ChangesListResult {
  /** The oldest first. */
  changes: Changes[];
}

/** Show the difference that a change made. Of a long one, files come without hunks; ask for them by their paths. */
export interface ChangesDiff {
  /** The session. */
  sessionId: string;
  /** The change. */
  changeId: string;
  /** This path alone; absent: all. */
  path?: string;
}

/** The difference. */
export interface ChangesDiffResult {
  /** By path. */
  files: FileDifference[];
}

/** Read what a path held before a change and after it, for an editor that compares texts itself. */
export interface ChangesRead {
  /** The session. */
  sessionId: string;
  /** The change. */
  changeId: string;
  /** The path. */
  path: string;
}

/** A text twice; what is no UTF-8 in it is `�`. */
export interface ChangesReadResult {
  /** Before; absent: there was no such file. */
  before?: string;
  /** After; absent: there is no such file. */
  after?: string;
}

/** Take a change back: all of it, one path, or one hunk of that. The model is told before the next request. A path is written only where it is as the change left it, or where the change's lines and their neighbours still are. Refused while a program of the session runs. */
export interface ChangesRevert {
  /** The session. */
  sessionId: string;
  /** The change. */
  changeId: string;
  /** This path alone; absent: all. */
  path?: string;
  /** This hunk of the path alone. */
  hunkId?: string;
}

/** What was taken back. */
export interface ChangesRevertResult {
  /** What was written, which can be taken back itself; absent: nothing, since all was as before or was left. */
  reverted?: Changes;
  /** What was not taken back. */
  left?: LeftPath[];
}

/** The next chunks of a session's stream, in order. See *Following the stream*. */
export interface Chunks {
  /** The session. */
  sessionId: string;
  /** The turn that all of these chunks belong to; empty before the first turn. */
  turnId: string;
  /** The number of the first chunk; a session's chunks are numbered from 1. */
  seq: number;
  /** The number of the chunk after the last: the `seq` that the next notification should have. */
  nextSeq: number;
  /** LMC chunks. There may be fewer than `nextSeq - seq`. */
  chunks: LmcChunk[];
  /** True where some of these chunks were sent before. */
  replay?: boolean;
}

/** What goes on in a chat document beside its text, for a client that shows `documents`. Sent after every change, several in quick succession as one. */
export interface DocumentState {
  /** The document. */
  uri: string;
  /** Its session. */
  sessionId: string;
  /** As in `oi/state`. */
  state: "idle" | "thinking" | "awaiting_approval" | "running" | "awaiting_input" | "stopping";
  /** Those with which it is otherwise than was told before. */
  blocks: BlockState[];
  /** What a program waits for. */
  question?: DocumentQuestion;
  /** How many messages wait for their turn. */
  waiting?: number;
  /** Tokens that the model read so far. */
  promptTokens?: number;
  /** Tokens that the model wrote so far. */
  completionTokens?: number;
  /** US dollars so far; absent where no price is known. */
  cost?: number;
}

/** An inline edit as it is now: sent after every change, several in quick succession as one. Its hunks are all that there are; a hunk that is no longer among them was replaced by others, or its edit is over. */
export interface EditState {
  /** The edit. */
  editId: string;
  /** The document. */
  uri: string;
  /** Whether the model is still writing. What had arrived before it failed can be accepted. */
  state: "streaming" | "complete" | "failed";
  /** In the order of the document. */
  hunks: EditHunk[];
  /** The document's version that the ranges are for; absent for a new file. */
  version?: number;
  /** What the model said beside its edit. */
  comment?: string;
  /** What went wrong. */
  error?: string;
  /** What the reply has cost, in US dollars; absent where it is not known. */
  cost?: number;
}

/** Each command: its argument and its answer. */
export interface Commands {
  "oi.session.new": [SessionNew, SessionNewResult];
  "oi.session.list": [SessionList, SessionListResult];
  "oi.session.open": [SessionOpen, SessionOpenResult];
  "oi.session.close": [SessionClose, Nothing];
  "oi.session.delete": [SessionDelete, Nothing];
  "oi.session.rename": [SessionRename, Nothing];
  "oi.session.export": [SessionExport, SessionExportResult];
  "oi.session.undo": [SessionUndo, SessionUndoResult];
  "oi.session.reset": [SessionReset, Nothing];
  "oi.session.replay": [SessionReplay, SessionReplayResult];
  "oi.chat.send": [ChatSend, ChatSendResult];
  "oi.chat.complete": [ChatComplete, ChatCompleteResult];
  "oi.chat.stop": [ChatStop, ChatStopResult];
  "oi.code.approve": [CodeApprove, OfTurn];
  "oi.code.reject": [CodeReject, OfTurn];
  "oi.code.scan": [CodeScan, Nothing];
  "oi.code.run": [CodeRun, CodeRunResult];
  "oi.input.answer": [InputAnswer, Nothing];
  "oi.kernel.interrupt": [KernelInterrupt, Nothing];
  "oi.kernel.restart": [KernelRestart, Nothing];
  "oi.sandbox.allow": [SandboxAllow, Nothing];
  "oi.usage.get": [UsageGet, Usage];
  "oi.history.list": [HistoryList, HistoryListResult];
  "oi.history.search": [HistorySearch, HistorySearchResult];
  "oi.history.read": [HistoryRead, HistoryReadResult];
  "oi.history.rename": [HistoryRename, Nothing];
  "oi.history.delete": [HistoryDelete, Nothing];
  "oi.history.branch": [HistoryBranch, StoredResult];
  "oi.history.export": [HistoryExport, HistoryExportResult];
  "oi.history.import": [HistoryImport, StoredResult];
  "oi.settings.get": [SettingsGet, SettingsGetResult];
  "oi.settings.set": [SettingsSet, SettingsSetResult];
  "oi.policy.list": [PolicyList, PolicyListResult];
  "oi.policy.revoke": [PolicyRevoke, Nothing];
  "oi.keys.set": [KeysSet, Nothing];
  "oi.models.list": [ModelsList, ModelsListResult];
  "oi.models.catalog": [ModelsCatalog, ModelsCatalogResult];
  "oi.models.choose": [ModelsChoose, ModelsChooseResult];
  "oi.prompt.get": [PromptGet, PromptGetResult];
  "oi.document.new": [DocumentNew, DocumentNewResult];
  "oi.document.load": [DocumentLoad, Nothing];
  "oi.document.send": [DocumentSend, Started];
  "oi.document.run": [DocumentRun, Started];
  "oi.document.reject": [DocumentReject, Nothing];
  "oi.document.scan": [DocumentScan, Nothing];
  "oi.document.answer": [DocumentAnswer, Nothing];
  "oi.document.stop": [DocumentStop, DocumentStopResult];
  "oi.document.remove": [DocumentRemove, Nothing];
  "oi.selection.run": [SelectionRun, SelectionStarted];
  "oi.selection.ask": [SelectionAsk, SelectionStarted];
  "oi.diagnostic.explain": [DiagnosticExplain, SelectionStarted];
  "oi.selection.edit": [SelectionEdit, SelectionEditResult];
  "oi.edit.accept": [EditAccept, EditRemaining];
  "oi.edit.reject": [EditReject, EditRemaining];
  "oi.edit.stop": [EditStop, EditStopResult];
  "oi.changes.list": [ChangesList, ChangesListResult];
  "oi.changes.diff": [ChangesDiff, ChangesDiffResult];
  "oi.changes.read": [ChangesRead, ChangesReadResult];
  "oi.changes.revert": [ChangesRevert, ChangesRevertResult];
}

/** Each notification and its params. */
export interface Notifications {
  "oi/chunks": Chunks;
  "oi/state": SessionState;
  "oi/document": DocumentState;
  "oi/edit": EditState;
}

export const ErrorCode = {
  PARSE_ERROR: -32700,
  INVALID_REQUEST: -32600,
  METHOD_NOT_FOUND: -32601,
  INVALID_PARAMS: -32602,
  INTERNAL_ERROR: -32603,
  NOT_INITIALIZED: -32002,
  REFUSED: 1000,
  UNKNOWN_SESSION: 1001,
  UNKNOWN_PROPOSAL: 1002,
  UNKNOWN_INPUT: 1003,
  SESSION_BUSY: 1004,
  UNKNOWN_CONVERSATION: 1005,
  TIMED_OUT: 1006,
} as const;
