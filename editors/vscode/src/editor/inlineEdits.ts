// Inline edits as the server tells them (`oi/edit`): the lines that would go are marked where they are, and those that would
// come stand below them. Each hunk is accepted or rejected by its lens (the server's own), by button or by key.
import * as vscode from "vscode";
import { reported } from "../chat/view.js";
import type { EditHunk, EditState } from "../protocol.js";
import type { Server } from "../server/server.js";
import type { Texts } from "../texts.js";

const WAITING = "oi-lsp.hunksWait";

type Decision = "oi.edit.accept" | "oi.edit.reject";

/** A hunk that waits, and where. */
interface Waiting {
  edit: EditState;
  hunk: EditHunk;
  range: vscode.Range;
}

export class InlineEdits implements vscode.Disposable {
  private readonly edits = new Map<string, EditState>();
  private readonly threads = new Map<string, vscode.CommentThread>();
  private readonly running = new Map<string, () => void>();
  private readonly offered = new Set<string>();
  private readonly comments = vscode.comments.createCommentController("oi-lsp.edit", "Open Interpreter");
  private readonly removed = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor("diffEditor.removedLineBackground"),
    overviewRulerColor: new vscode.ThemeColor("diffEditorOverview.removedForeground"),
  });
  private readonly subscriptions: vscode.Disposable[];

  constructor(
    private readonly server: Server,
    private readonly texts: Texts,
  ) {
    this.subscriptions = [
      this.comments,
      this.removed,
      server.on("oi/edit", (edit) => this.take(edit)),
      server.onStatus(({ kind }) => {
        if (kind !== "ready") this.forget();
      }),
      vscode.window.onDidChangeVisibleTextEditors(() => this.mark()),
    ];
  }

  /** Answer a hunk: the one whose button was pressed, else the one at the cursor, or the next one below it. */
  async decide(command: Decision, thread?: vscode.CommentThread): Promise<void> {
    const hunk = thread === undefined ? this.atCursor() : this.hunkOf(thread);
    if (hunk !== undefined) await this.server.send(command, { editId: hunk.edit.editId, hunkId: hunk.hunk.id });
  }

  async decideAll(command: Decision): Promise<void> {
    const uri = vscode.window.activeTextEditor?.document.uri.toString();
    const ids = new Set(this.waiting(uri).map(({ edit }) => edit.editId));
    for (const editId of ids) await this.server.send(command, { editId });
  }

  /** Go to the next hunk (1) or the previous one (-1). */
  go(step: 1 | -1): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (editor === undefined) return Promise.resolve();
    const places = this.waiting(editor.document.uri.toString()).map(({ range }) => range.start);
    const cursor = editor.selection.active.line;
    const after = places.filter(({ line }) => (step > 0 ? line > cursor : line < cursor));
    const next = (step > 0 ? after[0] : after.at(-1)) ?? (step > 0 ? places[0] : places.at(-1));
    if (next !== undefined) {
      editor.selection = new vscode.Selection(next, next);
      editor.revealRange(new vscode.Range(next, next), vscode.TextEditorRevealType.InCenterIfOutsideViewport);
    }
    return Promise.resolve();
  }

  dispose(): void {
    this.forget();
    vscode.Disposable.from(...this.subscriptions).dispose();
  }

  private take(edit: EditState): void {
    const isOver = edit.state !== "streaming";
    if (isOver && edit.hunks.length === 0) this.edits.delete(edit.editId);
    else this.edits.set(edit.editId, edit);
    if (!isOver) this.showProgress(edit.editId);
    else this.running.get(edit.editId)?.();
    const [hunk] = edit.hunks;
    if (isOver && isNewFile(edit) && hunk?.state === "proposed") void reported(this.offerFile(edit, hunk));
    if (edit.state === "failed") void vscode.window.showWarningMessage(edit.error ?? "The edit failed.");
    this.draw();
  }

  private forget(): void {
    for (const end of this.running.values()) end();
    this.edits.clear();
    this.offered.clear();
    this.draw();
  }

  /** Say that the model writes, and let it be stopped. */
  private showProgress(editId: string): void {
    if (this.running.has(editId)) return;
    const options = {
      location: vscode.ProgressLocation.Notification,
      title: "Open Interpreter edits…",
      cancellable: true,
    };
    void vscode.window
      .withProgress(options, (_, token) => {
        token.onCancellationRequested(() => void reported(this.server.send("oi.edit.stop", { editId })));
        return new Promise<void>((resolve) => this.running.set(editId, resolve));
      })
      .then(() => this.running.delete(editId));
  }

  /** Show a file that would be made, and ask. Whoever closes the question says no. */
  private async offerFile(edit: EditState, hunk: EditHunk): Promise<void> {
    if (this.offered.has(edit.editId)) return;
    this.offered.add(edit.editId);
    const name = vscode.workspace.asRelativePath(vscode.Uri.parse(edit.uri));
    const shown = await vscode.workspace.openTextDocument(this.texts.keep(name, hunk.new));
    await vscode.window.showTextDocument(shown, { preview: true });
    const question = `Make the file ${name}, as it is shown?`;
    const answer = await vscode.window.showInformationMessage(question, "Make the File", "Reject");
    const command = answer === "Make the File" ? "oi.edit.accept" : "oi.edit.reject";
    if (this.edits.has(edit.editId)) await this.server.send(command, { editId: edit.editId });
  }

  private atCursor(): Waiting | undefined {
    const editor = vscode.window.activeTextEditor;
    if (editor === undefined) return undefined;
    const waiting = this.waiting(editor.document.uri.toString());
    const line = editor.selection.active.line;
    return waiting.find(({ range }) => range.end.line >= line) ?? waiting[0];
  }

  private hunkOf(thread: vscode.CommentThread): Waiting | undefined {
    return this.waiting().find((each) => this.threads.get(keyOf(each)) === thread);
  }

  /** The hunks of a document that wait, from its top; of all where there is no uri. */
  private waiting(uri?: string): Waiting[] {
    const found: Waiting[] = [];
    for (const edit of this.edits.values()) {
      if (isNewFile(edit)) continue;
      for (const hunk of edit.hunks) {
        if ((uri !== undefined && edit.uri !== uri) || hunk.state !== "proposed" || hunk.range === undefined) continue;
        const { start, end } = hunk.range;
        // A range ends where the line after it begins.
        const last = end.line > start.line && end.character === 0 ? end.line - 1 : end.line;
        found.push({ edit, hunk, range: new vscode.Range(start.line, 0, last, 0) });
      }
    }
    return found.sort((one, other) => one.range.start.compareTo(other.range.start));
  }

  private draw(): void {
    const waiting = this.waiting();
    const wanted = new Set(waiting.map(keyOf));
    for (const [key, thread] of this.threads) {
      if (wanted.has(key)) continue;
      thread.dispose();
      this.threads.delete(key);
    }
    for (const each of waiting) this.showNew(each);
    this.mark();
    void vscode.commands.executeCommand("setContext", WAITING, waiting.length > 0);
  }

  /** Mark the lines that would go. */
  private mark(): void {
    for (const editor of vscode.window.visibleTextEditors) {
      const waiting = this.waiting(editor.document.uri.toString()).filter(({ hunk }) => hunk.old !== "");
      editor.setDecorations(
        this.removed,
        waiting.map(({ range }) => range),
      );
    }
  }

  /** Show the lines that would come, below those that would go. */
  private showNew(each: Waiting): void {
    const { edit, hunk, range } = each;
    const key = keyOf(each);
    const lines = hunk.new.replace(/\n$/, "").split("\n").length;
    const label =
      hunk.new === "" ? "Nothing in their place" : `${lines} ${lines === 1 ? "line" : "lines"} in their place`;
    const body = new vscode.MarkdownString();
    const document = vscode.workspace.textDocuments.find(({ uri }) => uri.toString() === edit.uri);
    if (hunk.new !== "") body.appendCodeblock(hunk.new.replace(/\n$/, ""), document?.languageId ?? "");
    const comment: vscode.Comment = { body, mode: vscode.CommentMode.Preview, author: { name: "Edit" } };
    const thread = this.threads.get(key) ?? this.comments.createCommentThread(vscode.Uri.parse(edit.uri), range, []);
    this.threads.set(key, thread);
    thread.range = range;
    thread.label = hunk.old === "" ? `${lines} new ${lines === 1 ? "line" : "lines"}` : label;
    thread.comments = hunk.new === "" ? [] : [comment];
    thread.canReply = false;
    thread.collapsibleState = vscode.CommentThreadCollapsibleState.Expanded;
    thread.contextValue = "hunk";
  }
}

/** Whether it is an edit of a file that is not there yet, so that there are no lines to show it at. */
function isNewFile(edit: EditState): boolean {
  return edit.version === undefined;
}

function keyOf({ edit, hunk }: Waiting): string {
  return `${edit.editId} ${hunk.id}`;
}
