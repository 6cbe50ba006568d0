// What can go with a message, as the panel shows it and the server takes it.
import * as vscode from "vscode";
import type { Chip } from "../messages.js";
import type { Range } from "../protocol.js";

const NO_EDITOR = "No text editor is open.";

/** Ask what to attach. */
export async function pickAttachments(): Promise<Chip[]> {
  const kinds: (vscode.QuickPickItem & { take: () => Chip[] | Promise<Chip[]> })[] = [
    { label: "$(file) Files…", description: "text, PNG or JPEG", take: pickFiles },
    { label: "$(selection) The selection", description: "of the active editor", take: () => [selectionChip(active())] },
    { label: "$(go-to-file) The active file", take: () => [fileChip(active().document.uri)] },
    { label: "$(warning) The problems of the active file", take: () => [problemsChip(active().document)] },
  ];
  const picked = await vscode.window.showQuickPick(kinds, { title: "Attach to the next message" });
  return (await picked?.take()) ?? [];
}

/** A file, as it is on the disk when the message is sent; with what is not saved yet, as it is now. */
export function fileChip(uri: vscode.Uri): Chip {
  const open = vscode.workspace.textDocuments.find((document) => document.uri.toString() === uri.toString());
  if (open !== undefined && (open.isDirty || open.isUntitled)) {
    const [text, title] = [open.getText(), shortName(uri)];
    return { title, detail: text, attachment: { text, title } };
  }
  return { title: shortName(uri), detail: uri.fsPath, attachment: { uri: uri.toString() } };
}

/** What is selected; the line with the cursor where nothing is. What is not saved yet goes along as it is. */
export function selectionChip(editor: vscode.TextEditor): Chip {
  const { document, selection } = editor;
  const range = selection.isEmpty ? document.lineAt(selection.active.line).range : selection;
  const lines = `${range.start.line + 1}–${range.end.line + 1}`;
  const title = `${shortName(document.uri)}:${lines}`;
  const text = document.getText(range);
  const saved = document.uri.scheme === "file" && !document.isDirty;
  const attachment = saved ? { uri: document.uri.toString(), range: plain(range) } : { text, title };
  return { title, detail: text, attachment };
}

/** What is wrong with a file, by those who look for that. */
export function problemsChip(document: vscode.TextDocument): Chip {
  const found = vscode.languages.getDiagnostics(document.uri);
  if (found.length === 0) throw new Error("Nothing is reported of this file.");
  const name = shortName(document.uri);
  const lines = found.map(({ range, severity, message, source }) => {
    const where = `${name}:${range.start.line + 1}:${range.start.character + 1}`;
    return `${where}: ${vscode.DiagnosticSeverity[severity].toLowerCase()}: ${message}${source ? ` (${source})` : ""}`;
  });
  const text = lines.join("\n");
  const title = `Problems of ${name}`;
  return { title: `${title}: ${found.length}`, detail: text, attachment: { text, title } };
}

function active(): vscode.TextEditor {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined) throw new Error(NO_EDITOR);
  return editor;
}

async function pickFiles(): Promise<Chip[]> {
  const uris = await vscode.window.showOpenDialog({ canSelectMany: true, openLabel: "Attach" });
  return (uris ?? []).map(fileChip);
}

function shortName(uri: vscode.Uri): string {
  return vscode.workspace.asRelativePath(uri);
}

/** A range as the protocol has it. */
export function plain(range: vscode.Range): Range {
  const at = ({ line, character }: vscode.Position) => ({ line, character });
  return { start: at(range.start), end: at(range.end) };
}
