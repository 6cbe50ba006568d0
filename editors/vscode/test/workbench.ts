// A real VS Code workbench on loopback, with the extension in it: see .ci/vscode. Everything that it writes is in a
// folder of its own.
import { spawn, type ChildProcess } from "node:child_process";
import * as fs from "node:fs";
import * as net from "node:net";
import * as os from "node:os";
import * as path from "node:path";

export const HERE = path.join(import.meta.dirname, "..");
export const TOP = path.join(HERE, "..", "..");
const CACHE = process.env["XDG_CACHE_HOME"] ?? path.join(os.homedir(), ".cache");
const PARTS = process.env["TEST_VSCODE"] ?? path.join(CACHE, "oi-lsp-ci", "vscode");
const NODE = path.join(PARTS, "node", "bin", "node");
const ENTRY = path.join(PARTS, "workbench", "node_modules", "code-server", "out", "node", "entry.js");
export const VSIX = path.join(HERE, "out", "oi-lsp.vsix");
const READY_TIME = 30_000;

/** Why there is no workbench here; undefined where there is one. */
export function missing(): string | undefined {
  if (fs.existsSync(ENTRY)) return undefined;
  const why = path.join(PARTS, "missing");
  return fs.existsSync(why) ? fs.readFileSync(why, "utf8").trim() : "run .ci/vscode: it fetches the workbench";
}

export interface Options {
  /** Where it keeps what it writes; the caller's to delete. */
  home: string;
  /** Settings of the person's. */
  user?: Record<string, unknown>;
  /** Settings of scope `machine`. */
  machine?: Record<string, unknown>;
  env?: Record<string, string>;
  port?: number;
  /** Whether workspaces are to be trusted before code runs in them. */
  trust?: boolean;
  /** Other extensions: files by path, in folders named like `publisher.name-1.0.0`. */
  extensions?: Record<string, string>;
  /** How much is logged; VS Code's levels. */
  log?: string;
}

const USER = {
  "telemetry.telemetryLevel": "off",
  "workbench.startupEditor": "none",
  "update.mode": "none",
  "files.autoSave": "off",
  "extensions.autoUpdate": false,
  "extensions.ignoreRecommendations": true,
  "chat.disableAIFeatures": true,
  "workbench.reduceMotion": "on",
  // A list that is being looked at stays, though a webview that is late takes the focus.
  "workbench.quickOpen.closeOnFocusLost": false,
  "editor.accessibilitySupport": "off",
};

export class Workbench {
  private process: ChildProcess | undefined;
  readonly port: number;
  private readonly options: Options;
  private readonly folders: Record<"data" | "extensions" | "workspace", string>;

  private constructor(options: Options, port: number) {
    this.options = options;
    this.port = port;
    const at = (name: string) => path.join(options.home, name);
    this.folders = { data: at("data"), extensions: at("extensions"), workspace: at("workspace") };
  }

  /** Install the extension and start the workbench. */
  static async start(options: Options): Promise<Workbench> {
    const found = new Workbench(options, options.port ?? (await freePort()));
    found.write();
    await found.install();
    await found.serve();
    return found;
  }

  get workspace(): string {
    return this.folders.workspace;
  }

  /** The extension host's logs, and all that VS Code writes. */
  get data(): string {
    return this.folders.data;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/?folder=${encodeURIComponent(this.folders.workspace)}`;
  }

  async stop(): Promise<void> {
    const { process: child } = this;
    this.process = undefined;
    if (child?.pid === undefined || child.exitCode !== null) return;
    const gone = new Promise((resolve) => child.once("exit", resolve));
    process.kill(-child.pid, "SIGTERM");
    const last = setTimeout(() => child.pid !== undefined && process.kill(-child.pid, "SIGKILL"), 5000);
    await gone;
    clearTimeout(last);
  }

  /** Have the machine's settings say something else, as if the person had typed it. */
  set(changes: Record<string, unknown>): void {
    const file = path.join(this.folders.data, "Machine", "settings.json");
    const before = JSON.parse(fs.readFileSync(file, "utf8")) as Record<string, unknown>;
    fs.writeFileSync(file, JSON.stringify({ ...before, ...changes }));
  }

  private write(): void {
    const { data, extensions, workspace } = this.folders;
    const machine = { "oi-lsp.path": path.join(TOP, ".venv", "bin", "oi-lsp"), ...this.options.machine };
    const user = { ...USER, ...this.options.user };
    for (const folder of [extensions, workspace]) fs.mkdirSync(folder, { recursive: true });
    const files = { "User/settings.json": JSON.stringify(user), "Machine/settings.json": JSON.stringify(machine) };
    writeAll(data, files);
    writeAll(extensions, this.options.extensions ?? {});
  }

  private get arguments(): string[] {
    const { data, extensions } = this.folders;
    return [ENTRY, "--user-data-dir", data, "--extensions-dir", extensions, "--config", path.join(data, "config.yaml")];
  }

  private get environment(): NodeJS.ProcessEnv {
    const { home, env } = this.options;
    const xdg = Object.fromEntries(
      ["CONFIG", "DATA", "STATE", "CACHE"].map((kind) => [
        `XDG_${kind}_HOME`,
        path.join(home, "xdg", kind.toLowerCase()),
      ]),
    );
    return { PATH: process.env["PATH"], HOME: home, EXTENSIONS_GALLERY: '{"serviceUrl":""}', ...xdg, ...env };
  }

  private async install(): Promise<void> {
    const child = this.spawn(["--install-extension", VSIX, "--force"]);
    const code = await new Promise((resolve) => child.once("exit", resolve));
    if (code !== 0) throw new Error(`The extension could not be installed; see ${this.options.home}/log`);
  }

  private async serve(): Promise<void> {
    const flags = ["--auth", "none", "--bind-addr", `127.0.0.1:${this.port}`, "--disable-telemetry"];
    flags.push("--disable-update-check", "--disable-getting-started-override", "--disable-proxy");
    if (this.options.trust !== true) flags.push("--disable-workspace-trust");
    if (this.options.log !== undefined) flags.push("--log", this.options.log);
    this.process = this.spawn(flags);
    const until = Date.now() + READY_TIME;
    while (!(await answers(`http://127.0.0.1:${this.port}/healthz`))) {
      if (Date.now() > until || this.process.exitCode !== null) {
        throw new Error(`The workbench did not start; see ${this.options.home}/log`);
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  private spawn(args: string[]): ChildProcess {
    const log = fs.openSync(path.join(this.options.home, "log"), "a");
    const all = [...this.arguments, ...args];
    const child = spawn(NODE, all, { env: this.environment, stdio: ["ignore", log, log], detached: true });
    fs.closeSync(log);
    return child;
  }
}

/** Write files into a folder, those that are programs to be run. */
export function writeAll(folder: string, files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) {
    const file = path.join(folder, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, text, { mode: text.startsWith("#!") ? 0o755 : 0o644 });
  }
}

async function answers(url: string): Promise<boolean> {
  return fetch(url).then(
    ({ ok }) => ok,
    () => false,
  );
}

async function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = net.createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}
