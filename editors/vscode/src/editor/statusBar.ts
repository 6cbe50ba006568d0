// The status bar's item: what goes on, which model answers, what it cost.
import * as vscode from "vscode";
import type { Chat } from "../chat/chat.js";
import type { SessionState } from "../protocol.js";

const SIGNS: Record<SessionState["state"], string> = {
  idle: "$(comment-discussion)",
  thinking: "$(loading~spin)",
  awaiting_approval: "$(question)",
  running: "$(sync~spin)",
  awaiting_input: "$(edit)",
  stopping: "$(debug-stop)",
};
const WORDS: Record<SessionState["state"], string> = {
  idle: "ready",
  thinking: "the model answers",
  awaiting_approval: "code waits for you",
  running: "code runs",
  awaiting_input: "the program asks you something",
  stopping: "stopping",
};

export class StatusBar implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem("oi-lsp.state", vscode.StatusBarAlignment.Right, 90);
  private readonly listening: vscode.Disposable;

  constructor(chat: Chat) {
    this.item.name = "Open Interpreter";
    this.item.command = "oi-lsp.focus";
    this.show(undefined);
    this.item.show();
    this.listening = chat.onState((state) => this.show(state));
  }

  dispose(): void {
    this.listening.dispose();
    this.item.dispose();
  }

  private show(state: SessionState | undefined): void {
    const { model = "Open Interpreter", usage } = state ?? {};
    const cost = usage?.cost === undefined ? "" : ` $${usage.cost.toFixed(usage.cost < 1 ? 4 : 2)}`;
    const what = state?.state ?? "idle";
    this.item.text = `${SIGNS[what]} ${model}${cost}`;
    this.item.tooltip = `Open Interpreter: ${state === undefined ? "not started" : WORDS[what]}`;
    const waits = what === "awaiting_approval" || what === "awaiting_input";
    this.item.backgroundColor = waits ? new vscode.ThemeColor("statusBarItem.warningBackground") : undefined;
  }
}
