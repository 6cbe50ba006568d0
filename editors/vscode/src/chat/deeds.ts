// What the panel has VS Code do: editors, differences, links, the clipboard.
import * as vscode from "vscode";
import { HOST_COMMANDS, type Chip, type Deed } from "../messages.js";
import type { Server } from "../server/server.js";
import type { Texts } from "../texts.js";
import { pickAttachments } from "./attachments.js";
import type { Chat } from "./chat.js";

const LINKS = new Set(["http", "https", "mailto"]);

/** Our names of languages, where VS Code has others. */
const LANGUAGES: Record<string, string> = {
  shell: "shellscript",
  bash: "shellscript",
  r: "r",
  react: "javascriptreact",
};

export class Deeds {
  constructor(
    private readonly server: Server,
    private readonly chat: Chat,
    private readonly texts: Texts,
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
        await this.compare(`code.${deed.language}`, deed.before, deed.after, "Proposed ↔ as edited");
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

  private async compareFile(changeId: string, path: string): Promise<void> {
    const sessionId = await this.chat.session();
    const { before, after } = await this.server.send("oi.changes.read", { sessionId, changeId, path });
    await this.compare(path, before ?? "", after ?? "", `${path}: what the run changed`);
  }

  private async compare(name: string, before: string, after: string, title: string): Promise<void> {
    const sides = [this.texts.keep(name, before), this.texts.keep(name, after)];
    await vscode.commands.executeCommand("vscode.diff", ...sides, title, { preview: true });
  }

  private async fileOf(path: string): Promise<vscode.Uri> {
    return vscode.Uri.joinPath(vscode.Uri.file((await this.chat.info()).cwd), path);
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
