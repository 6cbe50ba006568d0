// What is done with the file that is being edited: run it, ask about it, have it edited, take it into the chat.
import * as vscode from "vscode";
import { fileChip, plain, selectionChip } from "../chat/attachments.js";
import type { Chat } from "../chat/chat.js";
import type { ChatView } from "../chat/view.js";
import type { Range } from "../protocol.js";
import type { Server } from "../server/server.js";

export class Selection {
  constructor(
    private readonly server: Server,
    private readonly chat: Chat,
    private readonly view: ChatView,
  ) {}

  /** Run what is selected, or the line with the cursor. What comes of it stands beside the code and in the chat. */
  async run(): Promise<void> {
    const { uri, range } = place();
    await this.server.send("oi.selection.run", { uri, range, sessionId: await this.chat.session() });
  }

  async runFile(): Promise<void> {
    const { uri } = place();
    await this.server.send("oi.selection.run", { uri, sessionId: await this.chat.session() });
  }

  async ask(): Promise<void> {
    const { uri, range } = place();
    const instruction = await vscode.window.showInputBox({ title: "Ask about the selection", ignoreFocusOut: true });
    if (!instruction) return;
    await this.view.focus();
    await this.server.send("oi.selection.ask", { uri, range, instruction, sessionId: await this.chat.session() });
  }

  /** Have the model write other lines; see `InlineEdits`. */
  async edit(): Promise<void> {
    const { uri, range } = place();
    const instruction = await vscode.window.showInputBox({
      title: "Edit the selection",
      prompt: "What is to be done? Nothing is written before you accept it.",
      ignoreFocusOut: true,
    });
    if (!instruction) return;
    await this.server.send("oi.selection.edit", { uri, range, instruction, sessionId: await this.chat.session() });
  }

  /** Have the model write a file that is not there yet; see `InlineEdits`. */
  async newFile(): Promise<void> {
    const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
    if (folder === undefined) throw new Error("Open a folder first: the file is made in it.");
    const ask = { title: "A new file", ignoreFocusOut: true };
    const name = await vscode.window.showInputBox({ ...ask, prompt: "Its name, in the folder of this window" });
    const instruction = name && (await vscode.window.showInputBox({ ...ask, prompt: "What is to be in it?" }));
    if (!name || !instruction) return;
    const uri = vscode.Uri.joinPath(folder, name).toString();
    await this.server.send("oi.selection.edit", { uri, instruction, sessionId: await this.chat.session() });
  }

  /** Files of the Explorer, or what is selected in the editor, as a part of the next message. */
  async addToChat(uri?: vscode.Uri, uris?: vscode.Uri[]): Promise<void> {
    const files = uris ?? (uri === undefined ? [] : [uri]);
    await this.view.attach(files.length > 0 ? files.map(fileChip) : [selectionChip(editor())]);
  }
}

function editor(): vscode.TextEditor {
  const { activeTextEditor } = vscode.window;
  if (activeTextEditor === undefined) throw new Error("Open a file in an editor, and select some lines of it, first.");
  return activeTextEditor;
}

function place(): { uri: string; range: Range } {
  const { document, selection } = editor();
  return { uri: document.uri.toString(), range: plain(selection) };
}
