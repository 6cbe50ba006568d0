// How the hunks that wait are drawn: the lines that would go are marked where they are, and those that would come stand
// between the lines. Room between lines is made by a thread of comments alone: VS Code has nothing else for it.
import * as vscode from "vscode";
import { codeOf, INVISIBLE } from "../words.js";
import type { EditHunk, EditState } from "../protocol.js";

/** A hunk that waits, and where its old lines are; without any, the line that it goes before. */
export interface Waiting {
  edit: EditState;
  hunk: EditHunk;
  range: vscode.Range;
}

interface Drawn {
  thread: vscode.CommentThread;
  text: string;
}

/** A line with more columns may be wider than the editor: its scroll bar would hide the last line. */
const WIDE = 60;

export class HunkDrawing implements vscode.Disposable {
  private readonly drawn = new Map<string, Drawn>();
  private readonly comments = vscode.comments.createCommentController("oi-lsp.edit", "Open Interpreter");
  private readonly removed = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor("diffEditor.removedLineBackground"),
    // High contrast has no backgrounds; other themes have no such border.
    border: "1px solid",
    borderColor: new vscode.ThemeColor("diffEditor.removedTextBorder"),
    overviewRulerColor: new vscode.ThemeColor("diffEditorOverview.removedForeground"),
  });

  /** Draw these hunks and no others. */
  draw(waiting: Waiting[]): void {
    const wanted = new Map(waiting.filter(({ hunk }) => hunk.new !== "").map((each) => [keyOf(each), each]));
    for (const [key, { thread }] of this.drawn) {
      if (wanted.has(key)) continue;
      thread.dispose();
      this.drawn.delete(key);
    }
    for (const [key, each] of wanted) this.drawNew(key, each);
    this.drawOld(waiting);
  }

  /** Mark the lines that would go, in all editors that are seen. */
  drawOld(waiting: Waiting[]): void {
    for (const editor of vscode.window.visibleTextEditors) {
      const uri = editor.document.uri.toString();
      const gone = waiting.filter(({ edit, hunk }) => edit.uri === uri && hunk.old !== "");
      editor.setDecorations(
        this.removed,
        gone.map(({ range }) => range),
      );
    }
  }

  /** Draw them again: VS Code leaves comments in the colours of the theme that was. */
  redraw(waiting: Waiting[]): void {
    this.draw([]);
    this.draw(waiting);
  }

  /** Whether a thread is that of a hunk. */
  isOf(thread: vscode.CommentThread, waiting: Waiting): boolean {
    return this.drawn.get(keyOf(waiting))?.thread === thread;
  }

  dispose(): void {
    this.draw([]);
    vscode.Disposable.from(this.comments, this.removed).dispose();
  }

  private drawNew(key: string, { edit, hunk, range }: Waiting): void {
    const place = placeOf(hunk, range);
    let drawn = this.drawn.get(key);
    // A thread cannot be moved to where there is no line, nor from there.
    if (drawn !== undefined && (drawn.thread.range === undefined) !== (place === undefined)) {
      drawn.thread.dispose();
      drawn = undefined;
    }
    drawn ??= { thread: this.threadAt(edit, place), text: "" };
    this.drawn.set(key, drawn);
    if (place !== undefined && drawn.thread.range?.isEqual(place) !== true) drawn.thread.range = place;
    if (drawn.text === hunk.new) return;
    drawn.text = hunk.new;
    drawn.thread.label = labelOf(hunk);
    const body = bodyOf(hunk, edit.uri);
    drawn.thread.comments = [{ body, mode: vscode.CommentMode.Preview, author: { name: "Proposed" } }];
  }

  private threadAt(edit: EditState, place: vscode.Range | undefined): vscode.CommentThread {
    // Without a range it stands above the first line, as the range's own description says; the parameter's type forgot.
    const thread = this.comments.createCommentThread(vscode.Uri.parse(edit.uri), place as vscode.Range, []);
    thread.canReply = false;
    thread.collapsibleState = vscode.CommentThreadCollapsibleState.Expanded;
    // It is nothing to discuss: with that, and `firstFileUnresolved`, VS Code does not open its list of comments.
    thread.state = vscode.CommentThreadState.Resolved;
    return thread;
  }
}

export function keyOf({ edit, hunk }: Waiting): string {
  return `${edit.editId} ${hunk.id}`;
}

/** The line that the new ones stand below; undefined above the first. */
function placeOf(hunk: EditHunk, range: vscode.Range): vscode.Range | undefined {
  const line = hunk.old === "" ? range.start.line - 1 : range.end.line;
  return line < 0 ? undefined : new vscode.Range(line, 0, line, 0);
}

function labelOf(hunk: EditHunk): string {
  const [old, count] = [linesOf(hunk.old).length, linesOf(hunk.new).length];
  if (hunk.old === "") return count === 1 ? "1 new line" : `${count} new lines`;
  return `${count} ${count === 1 ? "line" : "lines"} in place of ${old}`;
}

function linesOf(text: string): string[] {
  return text.replace(/\r?\n$/, "").split(/\r?\n/);
}

/** The new lines in the colours of their language, each with a plus before it in the colour of what is new. */
function bodyOf(hunk: EditHunk, uri: string): vscode.MarkdownString {
  const editor = vscode.window.visibleTextEditors.find(({ document }) => document.uri.toString() === uri);
  const document = vscode.workspace.textDocuments.find((each) => each.uri.toString() === uri);
  const tab = Number(editor?.options.tabSize) || 4;
  const lines = linesOf(hunk.new).map((line) => withoutTabs(line, tab).replace(INVISIBLE, (it) => `‹${codeOf(it)}›`));
  const [code, language] = [lines.join("\n"), document?.languageId];
  const body = new vscode.MarkdownString();
  // A screen reader is given the Markdown, so there it is the lines alone.
  const isHeard = vscode.workspace.getConfiguration("editor").get("accessibilitySupport") === "on";
  if (isHeard) return body.appendCodeblock(code, language);
  body.supportHtml = true;
  body.appendMarkdown("<table><tr><td>\n").appendCodeblock(lines.map(() => "+").join("\n"), "diff");
  body.appendMarkdown("\n</td><td>\n").appendCodeblock(code, language);
  const room = lines.some(({ length }) => length > WIDE) ? "<br>" : "";
  return body.appendMarkdown(`\n</td></tr></table>${room}\n`);
}

/** A comment shows every tab as four spaces. */
function withoutTabs(line: string, size: number): string {
  let columns = 0;
  return line.replace(/\t|[^\t]+/g, (part) => {
    const shown = part === "\t" ? " ".repeat(size - (columns % size)) : part;
    columns += shown.length;
    return shown;
  });
}
