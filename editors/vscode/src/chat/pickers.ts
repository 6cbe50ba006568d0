// What is asked with lists and dialogs of VS Code's: models, conversations, forms of an export, what is taken back.
import * as vscode from "vscode";
import type { HistoryExport, ModelOffer, Stored } from "../protocol.js";
import type { Server } from "../server/server.js";
import type { Chat } from "./chat.js";

interface Choice extends vscode.QuickPickItem {
  model?: string;
  apiBase?: string;
}

/** Choose the model that answers from the next message on. */
export async function chooseModel(server: Server, chat: Chat, setKey: () => Promise<void>): Promise<void> {
  const sessionId = await chat.session();
  const key: Choice = { label: "$(key) Set a provider's key…" };
  const about = "a script that shows how this works, with no key";
  const tour: Choice = { label: "tour", description: about, model: "tour", apiBase: "" };
  const between: Choice = { label: "", kind: vscode.QuickPickItemKind.Separator };
  const choices = server.send("oi.models.catalog", {}).then(({ models }) => {
    const offers = models.map((offer) => ({ ...describe(offer), model: offer.model, apiBase: offer.apiBase ?? "" }));
    return [...offers, tour, between, key];
  });
  const picked = await vscode.window.showQuickPick(choices, { title: "Model", matchOnDescription: true });
  if (picked === key) await setKey();
  const { model, apiBase } = picked ?? {};
  if (model !== undefined && apiBase !== undefined)
    await server.send("oi.models.choose", { sessionId, model, apiBase });
}

function describe(offer: ModelOffer): vscode.QuickPickItem {
  const million = (price: number) => `$${(price * 1e6).toFixed(2)}`;
  const { inputPrice, outputPrice, contextWindow } = offer;
  const facts = [
    offer.local ? `${offer.provider}, on this machine` : offer.provider,
    contextWindow === undefined ? "" : `reads ${Math.round(contextWindow / 1000)}k tokens`,
    inputPrice === undefined || outputPrice === undefined
      ? ""
      : `${million(inputPrice)} in, ${million(outputPrice)} out for a million`,
    offer.vision === true ? "sees pictures" : "",
  ];
  return { label: offer.model, description: facts.filter(Boolean).join(" · ") };
}

type Entry = vscode.QuickPickItem & { id: string };

const RENAME: vscode.QuickInputButton = { iconPath: new vscode.ThemeIcon("edit"), tooltip: "Rename" };
const DELETE: vscode.QuickInputButton = { iconPath: new vscode.ThemeIcon("trash"), tooltip: "Delete for good" };

/** Go on with a conversation from before: the last ones, or those that have the words that are typed. */
export async function showHistory(server: Server, chat: Chat): Promise<void> {
  await server.start();
  const pick = vscode.window.createQuickPick<Entry>();
  pick.title = "History";
  pick.placeholder = "Words that were said";
  // What is found need not have the words in its title.
  pick.matchOnDescription = pick.matchOnDetail = true;
  let asked = 0;
  const load = async () => {
    const query = pick.value.trim();
    const number = ++asked;
    pick.busy = true;
    const items = await found(server, query).catch(() => []);
    if (number !== asked) return;
    pick.busy = false;
    pick.items = items;
  };
  pick.onDidChangeValue(load);
  pick.onDidTriggerItemButton(async ({ item, button }) => {
    await (button === DELETE ? remove(server, item) : rename(server, item));
    await load();
  });
  pick.onDidAccept(() => {
    const chosen = pick.activeItems[0];
    pick.hide();
    if (chosen !== undefined) void chat.show(chosen.id);
  });
  pick.onDidHide(() => pick.dispose());
  pick.show();
  await load();
}

async function found(server: Server, query: string): Promise<Entry[]> {
  if (query === "") {
    const { conversations } = await server.send("oi.history.list", { limit: 100 });
    return conversations.map((each) => entry(each));
  }
  const { hits } = await server.send("oi.history.search", { query, limit: 50 });
  return hits.map(({ conversation, snippet }) => ({ ...entry(conversation), detail: snippet, alwaysShow: true }));
}

function entry(stored: Stored): Entry {
  const when = new Date(stored.updatedAt).toLocaleString();
  const description = `${stored.length} messages · ${when}${stored.open ? " · open" : ""}`;
  return { id: stored.conversationId, label: stored.title || "untitled", description, buttons: [RENAME, DELETE] };
}

async function rename(server: Server, { id, label }: Entry): Promise<void> {
  const title = await vscode.window.showInputBox({ title: "Rename", value: label });
  if (title !== undefined) await server.send("oi.history.rename", { conversationId: id, title });
}

async function remove(server: Server, { id, label }: Entry): Promise<void> {
  const answer = await vscode.window.showWarningMessage(`Delete “${label}” for good?`, { modal: true }, "Delete");
  if (answer === "Delete") await server.send("oi.history.delete", { conversationId: id });
}

/** Give the conversation another title. */
export async function renameChat(server: Server, chat: Chat): Promise<void> {
  const { sessionId, title: value } = await chat.info();
  const title = await vscode.window.showInputBox({ title: "Rename the chat", value });
  if (title !== undefined) await server.send("oi.session.rename", { sessionId, title });
}

const WITH_FILES = "Take Back, with the Files";
const CHAT_ONLY = "Take Back the Chat Only";

/** Take back a message and what came after it; where none is named, the last one. */
export async function undo(server: Server, chat: Chat, messageId?: string): Promise<void> {
  const sessionId = await chat.session();
  const message = `Take back ${messageId === undefined ? "your last message" : "this message"} and what came after it?`;
  const detail = "With the files: what its code changed on disk is as it was before. Variables are kept.";
  const answer = await vscode.window.showWarningMessage(message, { modal: true, detail }, WITH_FILES, CHAT_ONLY);
  if (answer === undefined) return;
  const which = messageId === undefined ? {} : { messageId };
  const { left = [] } = await server.send("oi.session.undo", { sessionId, files: answer === WITH_FILES, ...which });
  const reasons = left.map(({ path, reason }) => `${path}: ${reason}`);
  if (reasons.length > 0) void vscode.window.showWarningMessage(`Left as they are: ${reasons.join("; ")}`);
}

const FORMS: (vscode.QuickPickItem & { format: HistoryExport["format"] })[] = [
  { label: "Jupyter notebook", format: "notebook" },
  { label: "Markdown", format: "markdown" },
  { label: "Script", description: "the code that ran, a file for each language", format: "script" },
  { label: "JSON messages", format: "json" },
];

/** Export the conversation into files that the person names. */
export async function exportChat(server: Server, chat: Chat): Promise<void> {
  const sessionId = await chat.session();
  const picked = await vscode.window.showQuickPick(FORMS, { title: "Export the chat as" });
  if (picked === undefined) return;
  const { files } = await server.send("oi.history.export", { sessionId, format: picked.format });
  if (files.length === 0) throw new Error("No code ran in this chat.");
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri ?? vscode.Uri.file(".");
  for (const { name, text } of files) {
    const target = await vscode.window.showSaveDialog({ defaultUri: vscode.Uri.joinPath(folder, name) });
    if (target === undefined) return;
    await vscode.workspace.fs.writeFile(target, new TextEncoder().encode(text ?? ""));
    await vscode.commands.executeCommand("vscode.open", target);
  }
}
