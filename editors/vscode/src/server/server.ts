// The server's life: found, started, spoken to, and started again when it dies.
import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import { VERSION, type Commands, type ErrorData, type Notifications, type ProviderKey } from "../protocol.js";
import { findProgram, type Program } from "./discovery.js";
import { Installation } from "./installation.js";
import type { Keys } from "./keys.js";
import { skew } from "./places.js";
import { run } from "./process.js";
import { profile } from "./settings.js";

/** What the server is at. `failed` stays until the person does something. */
export type Status =
  | { kind: "off" | "starting" | "ready" }
  | { kind: "missing"; words: string }
  | { kind: "crashed"; words: string; seconds: number }
  | { kind: "failed"; words: string };

/** A command that was refused, and what to do about it. */
export class Refused extends Error {
  constructor(
    message: string,
    readonly code: number,
    readonly remedy: string | undefined,
  ) {
    super(message);
  }
}

const FIRST_WAIT = 1;
const LONGEST_WAIT = 30;
/** So many crashes without `CALM` in between, and it is not started again by itself. */
const MOST_CRASHES = 5;
const CALM = 60_000;
const DOCTOR_TIME = 60_000;

type Listener<M extends keyof Notifications> = (params: Notifications[M]) => void;

export class Server implements vscode.Disposable {
  private client: LanguageClient | undefined;
  private starting: Promise<LanguageClient> | undefined;
  private readonly listeners = new Map<string, Set<Listener<never>>>();
  private readonly changed = new vscode.EventEmitter<Status>();
  private launches = 0;
  private crashes = 0;
  private startedAt = 0;
  private again: NodeJS.Timeout | undefined;
  private disposed = false;
  private now: Status = { kind: "off" };

  readonly onStatus = this.changed.event;

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly keys: Keys,
    readonly log: vscode.LogOutputChannel,
  ) {}

  get status(): Status {
    return this.now;
  }

  /** Have `listener` called with each notification of that method, of this server process and of later ones. */
  on<M extends keyof Notifications>(method: M, listener: Listener<M>): vscode.Disposable {
    const found = this.listeners.get(method) ?? new Set();
    this.listeners.set(method, found.add(listener));
    return new vscode.Disposable(() => found.delete(listener));
  }

  /** Send a command, starting the server where it does not run. Rejects with `Refused` where it cannot be done. */
  async send<C extends keyof Commands>(name: C, params: Commands[C][0]): Promise<Commands[C][1]> {
    const client = await this.start();
    try {
      return await client.sendRequest("workspace/executeCommand", { command: name, arguments: [params] });
    } catch (error) {
      if (!(error instanceof Error) || !("code" in error)) throw error;
      const { code, data } = error as Error & { code: number; data?: ErrorData };
      throw new Refused(error.message, code, data?.remedy);
    }
  }

  /** Start the server where it does not run. Rejects where it cannot be had. */
  async start(): Promise<LanguageClient> {
    if (this.starting === undefined) {
      const starting = this.launch();
      this.starting = starting;
      // Another one may have begun meanwhile.
      starting.catch(() => {
        if (this.starting === starting) this.starting = undefined;
      });
    }
    return this.starting;
  }

  /** End the server, and start it again. What ran in its kernels is gone. */
  async restart(): Promise<void> {
    this.crashes = 0;
    await this.stop();
    await this.start();
  }

  /** Tell the server of other settings. */
  async configure(): Promise<void> {
    const settings = await profile();
    await this.client?.sendNotification("workspace/didChangeConfiguration", { settings: { oi: settings } });
  }

  /** Hand the keys to the server that runs, in the place of those that it was handed before. Kernels are left alone. */
  async handKeysOver(): Promise<void> {
    if (this.client !== undefined) await this.handTo(this.client, await this.keys.all());
  }

  /** Show what the doctor finds on this machine. */
  async doctor(): Promise<void> {
    const program = await findProgram(new Installation(this.context));
    if (program === undefined) return;
    // It answers 1 where something is missing, and says what.
    const options = { timeout: DOCTOR_TIME, cwd: this.folder };
    const report = await run(program.path, ["doctor"], options).catch((error: unknown) => String(error));
    // It is handed no keys, and so does not know of these.
    const names = await this.keys.names();
    const kept = names.length === 0 ? "" : `\nKeys that VS Code keeps for the server: ${names.join(", ")}.\n`;
    await vscode.window.showTextDocument(await vscode.workspace.openTextDocument({ content: report + kept }));
  }

  async stop(): Promise<void> {
    clearTimeout(this.again);
    this.launches += 1;
    const { client, starting } = this;
    this.client = this.starting = undefined;
    this.become({ kind: "off" });
    if (client === undefined) return;
    // One that is being started cannot be stopped.
    await starting?.catch(() => undefined);
    if (client.isRunning()) await client.dispose(5000).catch((error: unknown) => this.log.warn(String(error)));
  }

  dispose(): void {
    this.disposed = true;
    void this.stop();
  }

  private async launch(): Promise<LanguageClient> {
    clearTimeout(this.again);
    this.become({ kind: "starting" });
    const launch = this.launches;
    try {
      const program = await findProgram(new Installation(this.context));
      // The person may have chosen another one while they were asked.
      if (launch !== this.launches) return await this.start();
      if (program === undefined) {
        const words = "The server is not installed.";
        this.become({ kind: "missing", words });
        throw new Refused(words, 0, "Install it when you are asked, or set oi-lsp.path.");
      }
      this.log.info(`Starting ${program.path} (${program.why})`);
      const client = await this.connect(program);
      this.sayVersion(client);
      this.become({ kind: "ready" });
      return client;
    } catch (error) {
      const words = error instanceof Error ? error.message : String(error);
      this.log.error(words);
      if (this.now.kind === "starting" && launch === this.launches) this.become({ kind: "failed", words });
      throw error;
    }
  }

  private async connect(program: Program): Promise<LanguageClient> {
    // Half of the extension, which nobody needs before.
    const { CloseAction, ErrorAction, LanguageClient, State, TransportKind } =
      await import("vscode-languageclient/node");
    const run = {
      command: program.path,
      args: ["--stdio"],
      options: { cwd: this.folder },
      transport: TransportKind.stdio,
    };
    const client = new LanguageClient("oi-lsp", "Open Interpreter", run, {
      documentSelector: [{ scheme: "file" }, { scheme: "untitled" }],
      initializationOptions: { oi: { protocolVersion: VERSION }, settings: await profile() },
      initializationFailedHandler: () => false,
      outputChannel: this.log,
      traceOutputChannel: this.keys.keptOutOf(this.log),
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue, handled: true }),
        closed: () => ({ action: CloseAction.DoNotRestart, handled: true }),
      },
    });
    for (const method of ["oi/chunks", "oi/state", "oi/edit"] as const) {
      client.onNotification(method, (params: Notifications[typeof method]) =>
        this.listeners.get(method)?.forEach((each) => each(params as never)),
      );
    }
    this.client = client;
    this.startedAt = Date.now();
    client.onDidChangeState(({ oldState, newState }) => {
      if (newState === State.Stopped && oldState === State.Running && client === this.client) this.crashed();
    });
    await client.start().catch((error: unknown) => {
      throw unstarted(program, error);
    });
    const keys = await this.keys.all();
    // What is wrong with a key is no reason to have no server.
    if (keys.length > 0) await this.handTo(client, keys).catch((error: unknown) => this.warn(String(error)));
    return client;
  }

  private async handTo(client: LanguageClient, keys: ProviderKey[]): Promise<void> {
    await client.sendRequest("workspace/executeCommand", { command: "oi.keys.set", arguments: [{ keys }] });
  }

  /** Where it is started: in the workspace, if that is trusted. */
  private get folder(): string {
    const folder = vscode.workspace.isTrusted ? vscode.workspace.workspaceFolders?.[0]?.uri.fsPath : undefined;
    return folder ?? this.context.extensionPath;
  }

  /** Another version of the server understands this extension as long as the protocol's version is the same. */
  private sayVersion(client: LanguageClient): void {
    const theirs = client.initializeResult?.serverInfo?.version ?? "unknown";
    const words = skew(theirs, (this.context.extension.packageJSON as { version: string }).version);
    if (words !== undefined) this.warn(words);
  }

  private warn(words: string): void {
    this.log.warn(words);
    void vscode.window.showWarningMessage(words);
  }

  private crashed(): void {
    this.client = this.starting = undefined;
    if (this.disposed) return;
    if (Date.now() - this.startedAt > CALM) this.crashes = 0;
    this.crashes += 1;
    if (this.crashes > MOST_CRASHES) {
      this.become({ kind: "failed", words: `The server ended ${this.crashes} times in a row. Its log may say why.` });
      return;
    }
    const seconds = Math.min(FIRST_WAIT * 2 ** (this.crashes - 1), LONGEST_WAIT);
    const words = "The server ended unexpectedly. What ran in its kernels is gone; the conversation is kept.";
    this.log.error(`${words} Starting it again in ${seconds} s.`);
    this.become({ kind: "crashed", words, seconds });
    this.again = setTimeout(() => void this.start().catch(() => undefined), seconds * 1000);
  }

  private become(status: Status): void {
    this.now = status;
    this.changed.fire(status);
  }
}

/** Why a program is not the server that was looked for. */
function unstarted(program: Program, error: unknown): Error {
  const reason = error instanceof Error ? error.message : String(error);
  // The server names the field that it does not take.
  if (reason.includes("oi.protocolVersion")) {
    return new Error(
      `${program.path} (${program.why}) speaks another version of the protocol than this extension: bring the older one up to date. (${reason})`,
    );
  }
  return new Error(`${program.path} (${program.why}) did not start as the server: ${reason}`);
}
