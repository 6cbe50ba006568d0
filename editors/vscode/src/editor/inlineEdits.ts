// Inline edits as the server tells them (`oi/edit`). Each hunk is accepted or rejected by its lens (the server's own), by
// button or by key; the document's text is the server's to change, and nobody's before that.
import * as vscode from "vscode";
import { reported } from "../chat/view.js";
import type { EditHunk, EditState } from "../protocol.js";
import type { Server } from "../server/server.js";
import type { Texts } from "../texts.js";
import { plainWords } from "../words.js";
import { HunkDrawing, type Waiting } from "./hunkDrawing.js";

const WAITING = "oi-lsp.hunksWait";
/** Milliseconds. */
const NOTICE = 10_000;

type Decision = "oi.edit.accept" | "oi.edit.reject";

export class InlineEdits implements vscode.Disposable {
  private readonly edits = new Map<string, EditState>();
  private readonly running = new Map<string, () => void>();
  private readonly ended = new Set<string>();
  private readonly drawing = new HunkDrawing();
  private readonly subscriptions: vscode.Disposable[];

  constructor(
    private readonly server: Server,
    private readonly texts: Texts,
  ) {
    this.subscriptions = [
      this.drawing,
      server.on("oi/edit", (edit) => this.take(edit)),
      server.onStatus(({ kind }) => {
        if (kind !== "ready") this.forget();
      }),
      vscode.window.onDidChangeVisibleTextEditors(() => this.drawing.drawOld(this.waiting())),
      vscode.window.onDidChangeActiveColorTheme(() => this.drawing.redraw(this.waiting())),
      vscode.window.onDidChangeActiveTextEditor(() => this.tellKeys()),
    ];
  }

  /** Answer a hunk: the one whose button was pressed, else the one at the cursor, or the next one below it. */
  async decide(command: Decision, thread?: vscode.CommentThread): Promise<void> {
    const chosen = thread === undefined ? this.atCursor() : this.hunkOf(thread);
    if (chosen === undefined) return;
    // What one has not seen is shown first.
    if (thread === undefined && !isSeen(chosen)) reveal(chosen.range.start);
    else await this.server.send(command, { editId: chosen.edit.editId, hunkId: chosen.hunk.id });
  }

  async decideAll(command: Decision): Promise<void> {
    const ids = new Set(this.waitingHere().map(({ edit }) => edit.editId));
    for (const editId of ids) await this.server.send(command, { editId });
  }

  /** Go to the next hunk (1) or the previous one (-1). */
  go(step: 1 | -1): Promise<void> {
    const places = this.waitingHere().map(({ range }) => range.start);
    const cursor = vscode.window.activeTextEditor?.selection.active.line ?? 0;
    const after = places.filter(({ line }) => (step > 0 ? line > cursor : line < cursor));
    const next = (step > 0 ? after[0] : after.at(-1)) ?? (step > 0 ? places[0] : places.at(-1));
    if (next !== undefined) reveal(next);
    return Promise.resolve();
  }

  /** Show the file as it is beside what it would be with all that waits, in VS Code's own view of differences. */
  async compare(thread?: vscode.CommentThread): Promise<void> {
    const uri = thread?.uri ?? vscode.window.activeTextEditor?.document.uri;
    const waiting = this.waiting(uri?.toString());
    if (uri === undefined || waiting.length === 0) return;
    const document = await vscode.workspace.openTextDocument(uri);
    if (waiting.some(({ edit }) => edit.version !== document.version)) throw new Error("The file has just changed.");
    const before = document.getText();
    let after = before;
    for (const { hunk } of waiting.reverse()) {
      if (hunk.range === undefined) continue;
      const [start, end] = [hunk.range.start, hunk.range.end].map(({ line, character }) =>
        document.offsetAt(new vscode.Position(line, character)),
      );
      after = after.slice(0, start) + hunk.new + after.slice(end);
    }
    const name = vscode.workspace.asRelativePath(uri);
    const sides = [before, after].map((text) => this.texts.keep(name, text));
    await vscode.commands.executeCommand("vscode.diff", ...sides, `${name}: as it is ↔ with the edit`);
  }

  dispose(): void {
    this.forget();
    vscode.Disposable.from(...this.subscriptions).dispose();
  }

  private take(edit: EditState): void {
    const isOver = edit.state !== "streaming";
    this.noticeStale(edit);
    if (isOver && edit.hunks.length === 0) this.edits.delete(edit.editId);
    else this.edits.set(edit.editId, edit);
    if (!isOver) this.showProgress(edit.editId);
    else if (!this.ended.has(edit.editId)) this.end(edit);
    this.draw();
  }

  /** The model has written all that it will. */
  private end(edit: EditState): void {
    this.ended.add(edit.editId);
    this.running.get(edit.editId)?.();
    const [hunk] = edit.hunks;
    if (edit.state === "failed") void vscode.window.showWarningMessage(plainWords(edit.error ?? "The edit failed."));
    else if (edit.comment) void vscode.window.showInformationMessage(plainWords(edit.comment));
    else if (hunk === undefined) void vscode.window.showInformationMessage("No change came of the edit.");
    if (isNewFile(edit) && hunk?.state === "proposed") void reported(this.offerFile(edit, hunk));
  }

  private forget(): void {
    for (const end of this.running.values()) end();
    this.edits.clear();
    this.ended.clear();
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

  /** Say that hunks no longer fit, as somebody has changed their lines. */
  private noticeStale(edit: EditState): void {
    const before = new Map(this.edits.get(edit.editId)?.hunks.map(({ id, state }) => [id, state]));
    if (!edit.hunks.some(({ id, state }) => state === "stale" && before.get(id) === "proposed")) return;
    const words = "A change was withdrawn: its lines were changed. Undo brings it back.";
    vscode.window.setStatusBarMessage(`$(warning) ${words}`, NOTICE);
  }

  /** Show a file that would be made, and ask. Whoever closes the question says no. */
  private async offerFile(edit: EditState, hunk: EditHunk): Promise<void> {
    const name = vscode.workspace.asRelativePath(vscode.Uri.parse(edit.uri));
    const shown = await vscode.workspace.openTextDocument(this.texts.keep(name, hunk.new));
    await vscode.window.showTextDocument(shown, { preview: true });
    const question = `Make the file ${name}, as it is shown?`;
    const answer = await vscode.window.showInformationMessage(question, "Make the File", "Reject");
    const command = answer === "Make the File" ? "oi.edit.accept" : "oi.edit.reject";
    if (this.edits.has(edit.editId)) await this.server.send(command, { editId: edit.editId });
  }

  private atCursor(): Waiting | undefined {
    const waiting = this.waitingHere();
    const line = vscode.window.activeTextEditor?.selection.active.line ?? 0;
    return waiting.find(({ range }) => range.end.line >= line) ?? waiting[0];
  }

  private hunkOf(thread: vscode.CommentThread): Waiting | undefined {
    return this.waiting().find((each) => this.drawing.isOf(thread, each));
  }

  /** The hunks that wait in the active editor. */
  private waitingHere(): Waiting[] {
    const editor = vscode.window.activeTextEditor;
    return editor === undefined ? [] : this.waiting(editor.document.uri.toString());
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
    this.drawing.draw(this.waiting());
    this.tellKeys();
  }

  /** Let the keys be those of hunks where there are some. */
  private tellKeys(): void {
    void vscode.commands.executeCommand("setContext", WAITING, this.waitingHere().length > 0);
  }
}

/** Whether it is an edit of a file that is not there yet, so that there are no lines to show it at. */
function isNewFile(edit: EditState): boolean {
  return edit.version === undefined;
}

function isSeen({ range }: Waiting): boolean {
  return vscode.window.activeTextEditor?.visibleRanges.some((each) => each.intersection(range) !== undefined) === true;
}

/** Put the cursor there, in the active editor. */
function reveal(place: vscode.Position): void {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined) return;
  editor.selection = new vscode.Selection(place, place);
  editor.revealRange(new vscode.Range(place, place), vscode.TextEditorRevealType.InCenterIfOutsideViewport);
}
