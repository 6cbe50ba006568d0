// What the panel has VS Code do: editors, differences, links, the clipboard.
import * as vscode from "vscode";
import { HOST_COMMANDS, type Chip, type Deed } from "../messages.js";
import type { Server } from "../server/server.js";
import { pickAttachments } from "./attachments.js";
import type { Chat } from "./chat.js";

/** Texts that are compared, in documents that cannot be written. */
const SCHEME = "oi-lsp";
const LINKS = new Set(["http", "https", "mailto"]);
/** The most texts that are kept for editors that show them. */
const KEPT = 100;

/** Our names of languages, where VS Code has others. */
const LANGUAGES: Record<string, string> = {
  shell: "shellscript",
  bash: "shellscript",
  r: "r",
  react: "javascriptreact",
};

export class Deeds implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly texts = new Map<string, string>();
  private readonly registration = vscode.workspace.registerTextDocumentContentProvider(SCHEME, this);
  private count = 0;

  constructor(
    private readonly server: Server,
    private readonly chat: Chat,
    private readonly attach: (chips: Chip[]) => Promise<void>,
  ) {}

  /** Do it. Rejects where it cannot be done. */
  async perform(deed: Deed): Promise<void> {
    switch (deed.what) {
      case "openLink":
        await openLink(deed.url);
        break;
      case "openCode":
        await openCode(deed.language, deed.code);
        break;
      case "compareCode": {
        const name = `code.${deed.language}`;
        await this.compare(this.keep(name, deed.before), this.keep(name, deed.after), "Proposed ↔ as edited");
        break;
      }
      case "compareFile":
        await this.compareFile(deed.changeId, deed.path);
        break;
      case "openFile":
        await vscode.window.showTextDocument(await this.fileOf(deed.path));
        break;
      case "copy":
        await vscode.env.clipboard.writeText(deed.text);
        break;
      case "attach":
        await this.attach(await pickAttachments());
        break;
      case "run":
        if (HOST_COMMANDS.includes(deed.command)) await vscode.commands.executeCommand(deed.command);
        break;
    }
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.texts.get(uri.query) ?? "This text is no longer kept.";
  }

  dispose(): void {
    this.registration.dispose();
  }

  private async compareFile(changeId: string, path: string): Promise<void> {
    const sessionId = await this.chat.session();
    const { before, after } = await this.server.send("oi.changes.read", { sessionId, changeId, path });
    await this.compare(this.keep(path, before ?? ""), this.keep(path, after ?? ""), `${path}: what the run changed`);
  }

  private async compare(before: vscode.Uri, after: vscode.Uri, title: string): Promise<void> {
    await vscode.commands.executeCommand("vscode.diff", before, after, title, { preview: true });
  }

  private keep(name: string, text: string): vscode.Uri {
    const key = String(++this.count);
    this.texts.set(key, text);
    this.texts.delete(String(this.count - KEPT));
    return vscode.Uri.from({ scheme: SCHEME, path: `/${name}`, query: key });
  }

  private async fileOf(path: string): Promise<vscode.Uri> {
    const sessionId = await this.chat.session();
    const { sessions } = await this.server.send("oi.session.list", {});
    const cwd = sessions.find((each) => each.sessionId === sessionId)?.cwd ?? "";
    return vscode.Uri.joinPath(vscode.Uri.file(cwd), path);
  }
}

/** VS Code shows the address and asks, unless the person has said that they trust that place. */
async function openLink(url: string): Promise<void> {
  const uri = vscode.Uri.parse(url, true);
  if (!LINKS.has(uri.scheme)) throw new Error(`Links of this kind are not opened: ${uri.scheme}:`);
  await vscode.env.openExternal(uri);
}

async function openCode(language: string, content: string): Promise<void> {
  const known = await vscode.languages.getLanguages();
  const id = LANGUAGES[language] ?? language;
  const options = known.includes(id) ? { content, language: id } : { content };
  await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(options));
}
