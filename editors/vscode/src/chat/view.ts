// The panel as VS Code has it: a webview, what it may load, and the messages to and from it.
import * as crypto from "node:crypto";
import * as vscode from "vscode";
import type { Chip, FromPanel, Told, ToPanel } from "../messages.js";
import type { Commands } from "../protocol.js";
import { Refused, type Server } from "../server/server.js";
import type { Texts } from "../texts.js";
import { plainWords } from "../words.js";
import type { Chat } from "./chat.js";
import { tokenColours } from "./colours.js";
import { Deeds } from "./deeds.js";
import { undo } from "./pickers.js";

export const VIEW = "oi-lsp.chat";
/** Milliseconds: about the time of a frame. */
const FRAME = 16;

export class ChatView implements vscode.WebviewViewProvider, vscode.Disposable {
  private view: vscode.WebviewView | undefined;
  private isReady = false;
  private readonly waiting: ToPanel[] = [];
  private readonly told: Told[] = [];
  private telling: NodeJS.Timeout | undefined;
  private readonly subscriptions: vscode.Disposable[];
  private readonly deeds: Deeds;

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly server: Server,
    private readonly chat: Chat,
    texts: Texts,
  ) {
    this.deeds = new Deeds(server, chat, texts, (chips) => this.attach(chips));
    this.subscriptions = [
      chat.onOpened((opened) => this.post({ type: "session", opened })),
      server.onStatus((status) => this.post({ type: "status", status })),
      server.onStatus(({ kind }) => {
        if (kind === "ready" && this.view) void this.present();
      }),
      server.on("oi/chunks", (params) => this.tell({ method: "oi/chunks", params })),
      server.on("oi/state", (params) => this.tell({ method: "oi/state", params })),
      vscode.window.onDidChangeActiveColorTheme(() => void this.postColours()),
      // The setting that names the theme may change after the theme.
      vscode.workspace.onDidChangeConfiguration((change) => {
        if (change.affectsConfiguration("workbench")) void this.postColours();
      }),
      vscode.workspace.onDidGrantWorkspaceTrust(() => this.post({ type: "trust", trusted: true })),
    ];
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    this.view = view;
    this.isReady = false;
    view.webview.options = { enableScripts: true, localResourceRoots: [this.resources] };
    view.webview.html = this.html(view.webview);
    view.webview.onDidReceiveMessage((message: FromPanel) => void this.take(message));
    view.onDidDispose(() => {
      if (this.view === view) this.view = undefined;
    });
  }

  /** Bring the panel to the front, with the cursor where one writes. */
  async focus(): Promise<void> {
    await vscode.commands.executeCommand(`${VIEW}.focus`);
    this.postOrKeep({ type: "focus" });
  }

  /** Show what would be sent with the next message. */
  async attach(chips: Chip[]): Promise<void> {
    if (chips.length === 0) return;
    await this.focus();
    this.postOrKeep({ type: "chips", chips });
  }

  /** Put words where one writes. */
  async write(text: string): Promise<void> {
    await this.focus();
    this.postOrKeep({ type: "write", text });
  }

  dispose(): void {
    clearTimeout(this.telling);
    vscode.Disposable.from(...this.subscriptions).dispose();
  }

  private get resources(): vscode.Uri {
    return vscode.Uri.joinPath(this.context.extensionUri, "dist");
  }

  private async take(message: FromPanel): Promise<void> {
    switch (message.type) {
      case "ready":
        await this.begin();
        break;
      case "command":
        await this.relay(message.id, message.name, message.params);
        break;
      case "branch":
        await reported(this.chat.branch(message.messageId));
        break;
      case "undo":
        await reported(undo(this.server, this.chat, message.messageId));
        break;
      case "deed":
        await reported(this.deeds.perform(message.deed));
        break;
    }
  }

  private async begin(): Promise<void> {
    this.isReady = true;
    this.post({ type: "trust", trusted: vscode.workspace.isTrusted });
    this.post({ type: "status", status: this.server.status });
    await this.postColours();
    const present = this.present();
    this.waiting.splice(0).forEach((each) => this.post(each));
    await present;
  }

  /** Show the session; where there is no server, the status says so. */
  private async present(): Promise<void> {
    await this.chat.present().catch((error: unknown) => this.server.log.warn(String(error)));
  }

  private async relay(id: number, name: keyof Commands, params: unknown): Promise<void> {
    try {
      this.post({ type: "answer", id, answer: await this.server.send(name, params as never) });
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      const remedy = error instanceof Refused ? error.remedy : undefined;
      this.post({ type: "refusal", id, message, remedy });
    }
  }

  private async postColours(): Promise<void> {
    this.post({ type: "colours", colours: await tokenColours(this.server.log) });
  }

  /** Tell the panel soon. Each message takes time of the window's, so what comes within a frame goes in one. */
  private tell(told: Told): void {
    this.told.push(told);
    this.telling ??= setTimeout(() => this.flush(), FRAME);
  }

  private flush(): void {
    clearTimeout(this.telling);
    this.telling = undefined;
    if (this.told.length > 0) this.send({ type: "told", told: this.told.splice(0) });
  }

  /** Tell the panel at once, after what it was told before. */
  private post(message: ToPanel): void {
    this.flush();
    this.send(message);
  }

  private send(message: ToPanel): void {
    if (this.isReady) void this.view?.webview.postMessage(message);
  }

  private postOrKeep(message: ToPanel): void {
    if (this.isReady && this.view) this.post(message);
    else this.waiting.push(message);
  }

  /** The page: one script and one style sheet of our own, and nothing from anywhere else. Styles may stand in the page
   * since HTML that a program shows has its own; what they could fetch is not allowed. */
  private html(webview: vscode.Webview): string {
    const nonce = crypto.randomBytes(16).toString("base64");
    const at = (name: string) => webview.asWebviewUri(vscode.Uri.joinPath(this.resources, name)).toString();
    const policy = [
      "default-src 'none'",
      `script-src 'nonce-${nonce}'`,
      `style-src ${webview.cspSource} 'unsafe-inline'`,
      "img-src data:",
      "base-uri 'none'",
      "form-action 'none'",
      "require-trusted-types-for 'script'",
      "trusted-types oi-inert-document",
    ].join("; ");
    return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Open Interpreter</title>
<link rel="stylesheet" href="${at("style.css")}">
</head>
<body><script nonce="${nonce}" src="${at("panel.js")}"></script></body>
</html>`;
  }
}

/** Do something that the person asked for, and show why where it cannot be done. */
export async function reported(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    const remedy = error instanceof Refused && error.remedy !== undefined ? ` ${error.remedy}` : "";
    const words = error instanceof Error ? error.message : String(error);
    void vscode.window.showErrorMessage(plainWords(words + remedy));
  }
}
