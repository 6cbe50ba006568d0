// What VS Code calls when something of ours is first used. Nothing is started here: the server starts when the panel is
// shown, or a command needs it.
import * as vscode from "vscode";
import { Chat } from "./chat/chat.js";
import { chooseModel, exportChat, renameChat, showHistory, undo } from "./chat/pickers.js";
import { ChatView, reported, VIEW } from "./chat/view.js";
import { InlineEdits } from "./editor/inlineEdits.js";
import { Selection } from "./editor/selection.js";
import { StatusBar } from "./editor/statusBar.js";
import { Keys } from "./server/keys.js";
import { Server } from "./server/server.js";
import { onPythonChange, openSettings, SECTION } from "./server/settings.js";
import { Texts } from "./texts.js";

export function activate(context: vscode.ExtensionContext): void {
  const begun = performance.now();
  const log = vscode.window.createOutputChannel("Open Interpreter", { log: true });
  const keys = new Keys(context.secrets);
  const server = new Server(context, keys, log);
  const chat = new Chat(context, server);
  const texts = new Texts();
  const view = new ChatView(context, server, chat, texts);
  context.subscriptions.push(
    log,
    server,
    chat,
    texts,
    view,
    new StatusBar(chat),
    vscode.window.registerWebviewViewProvider(VIEW, view),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration(`${SECTION}.path`)) void reported(server.restart());
      else if (change.affectsConfiguration(SECTION)) void server.configure();
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(() => void server.configure()),
    keys.onChange(() => void reported(server.handKeysOver())),
  );
  const whenReady = server.onStatus(({ kind }) => {
    if (kind !== "ready") return;
    whenReady.dispose();
    void onPythonChange(() => void server.configure()).then(
      (listening) => listening && context.subscriptions.push(listening),
      (error: unknown) => log.warn(`The Python extension: ${String(error)}`),
    );
  });
  registerCommands(context, { server, chat, view, keys, log });
  registerEditorCommands(context, { server, chat, view, texts });
  log.info(`Activated in ${Math.round(performance.now() - begun)} ms.`);
}

interface Parts {
  server: Server;
  chat: Chat;
  view: ChatView;
  keys: Keys;
  log: vscode.LogOutputChannel;
}

function registerCommands(context: vscode.ExtensionContext, { server, chat, view, keys, log }: Parts): void {
  const setKey = async () => {
    const name = await keys.ask();
    if (name === undefined) return;
    const choose = "Choose a Model…";
    void vscode.window
      .showInformationMessage(`${name} is kept, and counts from the next message on.`, choose)
      .then((picked) => picked === choose && vscode.commands.executeCommand(`${SECTION}.chooseModel`));
  };
  const commands: Record<string, Command> = {
    focus: () => view.focus(),
    newChat: async () => {
      await view.focus();
      await chat.begin();
    },
    tour: async () => {
      await view.focus();
      const sessionId = await chat.begin({ model: "tour" });
      await server.send("oi.chat.send", { sessionId, content: "Show me how this works." });
    },
    history: () => showHistory(server, chat),
    export: () => exportChat(server, chat),
    rename: () => renameChat(server, chat),
    undo: () => undo(server, chat),
    stop: async () => server.send("oi.chat.stop", { sessionId: await chat.session() }),
    restartKernel: async () => server.send("oi.kernel.restart", { sessionId: await chat.session() }),
    chooseModel: () => chooseModel(server, chat, setKey),
    setKey,
    removeKey: () => keys.remove(),
    openSettings: () => openSettings(`@ext:${context.extension.id}`),
    showLog: () => {
      log.show();
      return Promise.resolve();
    },
    doctor: () => server.doctor(),
    restartServer: () => server.restart(),
  };
  register(context, commands);
}

interface EditorParts {
  server: Server;
  chat: Chat;
  view: ChatView;
  texts: Texts;
}

function registerEditorCommands(context: vscode.ExtensionContext, { server, chat, view, texts }: EditorParts): void {
  const selection = new Selection(server, chat, view);
  const edits = new InlineEdits(server, texts);
  context.subscriptions.push(edits);
  register(context, {
    runSelection: () => selection.run(),
    runFile: () => selection.runFile(),
    askSelection: () => selection.ask(),
    editSelection: () => selection.edit(),
    newFile: () => selection.newFile(),
    addToChat: (uri?: vscode.Uri, uris?: vscode.Uri[]) => selection.addToChat(uri, uris),
    acceptHunk: (thread?: vscode.CommentThread) => edits.decide("oi.edit.accept", thread),
    rejectHunk: (thread?: vscode.CommentThread) => edits.decide("oi.edit.reject", thread),
    acceptAllHunks: () => edits.decideAll("oi.edit.accept"),
    rejectAllHunks: () => edits.decideAll("oi.edit.reject"),
    nextHunk: () => edits.go(1),
    previousHunk: () => edits.go(-1),
    compareEdit: (thread?: vscode.CommentThread) => edits.compare(thread),
  });
}

type Command = (...args: never[]) => Promise<unknown>;

function register(context: vscode.ExtensionContext, commands: Record<string, Command>): void {
  for (const [name, run] of Object.entries(commands)) {
    const done = (...args: never[]) => reported(run(...args));
    context.subscriptions.push(vscode.commands.registerCommand(`${SECTION}.${name}`, done));
  }
}
