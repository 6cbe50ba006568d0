// The conversation that the panel shows: which session it is, and its state for all who show some of it.
import * as vscode from "vscode";
import { ErrorCode, type LmcChunk, type SessionInfo, type SessionOpenResult, type SessionState } from "../protocol.js";
import { Refused, type Server } from "../server/server.js";

const LAST = "oi-lsp.session";

export class Chat implements vscode.Disposable {
  private current: string | undefined;
  /** The last one that was to be shown. */
  private wanted: string | undefined;
  private opening: Promise<SessionOpenResult> | undefined;
  private readonly opened = new vscode.EventEmitter<SessionOpenResult>();
  private readonly changed = new vscode.EventEmitter<SessionState | undefined>();
  private readonly subscriptions: vscode.Disposable[];

  /** Another session is shown, or the same one anew. */
  readonly onOpened = this.opened.event;
  /** The state of the session that is shown; undefined: there is none, as the server is not there. */
  readonly onState = this.changed.event;
  state: SessionState | undefined;

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly server: Server,
  ) {
    this.subscriptions = [
      this.opened,
      this.changed,
      server.on("oi/state", (state) => {
        if (state.sessionId === this.current) this.become(state);
      }),
      server.on("oi/chunks", ({ sessionId, chunks, replay }) => {
        const id = sessionId === this.current && !replay ? chunks.map(toShow).find(Boolean) : undefined;
        if (id !== undefined) void this.show(id);
      }),
      server.onStatus(({ kind }) => {
        if (kind === "ready") return;
        // Its sessions are gone with it; the conversation is opened again when it is back.
        this.opening = undefined;
        this.become(undefined);
      }),
    ];
  }

  /** The session that is shown, opened or made where there is none. Rejects where the server cannot be had. */
  async session(): Promise<string> {
    if (this.current !== undefined && this.opening !== undefined) await this.opening;
    else await this.open(this.context.workspaceState.get<string>(LAST));
    return this.current ?? "";
  }

  /** What the list of sessions says of it. */
  async info(): Promise<SessionInfo> {
    const id = await this.session();
    const { sessions } = await this.server.send("oi.session.list", {});
    const found = sessions.find(({ sessionId }) => sessionId === id);
    if (found === undefined) throw new Error("This chat is no longer there.");
    return found;
  }

  /** Show the session again as it is now. */
  async present(): Promise<SessionOpenResult> {
    return this.open(this.wanted ?? this.context.workspaceState.get<string>(LAST));
  }

  /** Show another session, or a stored conversation, which is opened. */
  async show(id: string): Promise<void> {
    await this.open(id);
  }

  /** Begin a new conversation. */
  async begin(options: { model?: string } = {}): Promise<string> {
    const { sessionId } = await this.server.send("oi.session.new", options);
    await this.open(sessionId);
    return sessionId;
  }

  /** Go on from before a message in a conversation of its own: the one so far stays as it is. */
  async branch(messageId: string): Promise<void> {
    const conversationId = await this.session();
    const { conversation } = await this.server.send("oi.history.branch", { conversationId, messageId });
    await this.open(conversation.conversationId);
  }

  dispose(): void {
    vscode.Disposable.from(...this.subscriptions).dispose();
  }

  private async open(id: string | undefined): Promise<SessionOpenResult> {
    this.wanted = id;
    const opening = (this.opening = this.read(id));
    try {
      const opened = await opening;
      // Another one was asked for meanwhile: that one is shown, whichever is answered first.
      const newest = this.opening as Promise<SessionOpenResult> | undefined;
      if (newest !== undefined && newest !== opening) return await newest;
      // Nothing is waited for in between: what the server tells next is told after this.
      this.current = this.wanted = opened.info.sessionId;
      this.become(opened.state);
      this.opened.fire(opened);
      void this.context.workspaceState.update(LAST, this.current);
      return opened;
    } catch (error) {
      if (this.opening === opening) this.opening = undefined;
      throw error;
    }
  }

  private async read(id: string | undefined): Promise<SessionOpenResult> {
    try {
      if (id !== undefined) return await this.server.send("oi.session.open", { sessionId: id, messages: false });
    } catch (error) {
      // Nothing was said in it, so that it was not stored; or it was deleted.
      if (!(error instanceof Refused) || error.code !== ErrorCode.UNKNOWN_SESSION) throw error;
    }
    const { sessionId } = await this.server.send("oi.session.new", {});
    return this.server.send("oi.session.open", { sessionId, messages: false });
  }

  private become(state: SessionState | undefined): void {
    this.state = state;
    this.changed.fire(state);
  }
}

/** The session that `%open` has shown. */
function toShow(chunk: LmcChunk): string | undefined {
  const shows = chunk.type === "command" && chunk.format === "show" && typeof chunk.content === "string";
  return shows ? (chunk.content as string) : undefined;
}
