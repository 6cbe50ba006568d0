// The environment that the extension makes for the server, from the wheel and the lock file that it brings along.
import { createHash } from "node:crypto";
import * as fs from "node:fs/promises";
import * as path from "node:path";
import * as vscode from "vscode";
import { run } from "./process.js";

const OLDEST = [3, 11] as const;
const INSTALL_TIME = 15 * 60_000;
const BIN = process.platform === "win32" ? "Scripts" : "bin";
const EXE = process.platform === "win32" ? ".exe" : "";

/** The path of a program in a Python environment. */
export function inEnvironment(environment: string, program: string): string {
  return path.join(environment, BIN, program + EXE);
}

export class Installation {
  private readonly folder: string;
  private readonly bundled: string;

  constructor(context: vscode.ExtensionContext) {
    this.folder = path.join(context.globalStorageUri.fsPath, "server");
    this.bundled = path.join(context.extensionPath, "dist", "server");
  }

  get program(): string {
    return inEnvironment(this.folder, "oi-lsp");
  }

  /** Whether the environment is there and is made of what the extension now brings along. */
  async state(): Promise<"current" | "old" | "missing"> {
    const stamp = await fs.readFile(this.stampPath, "utf8").catch(() => undefined);
    if (stamp === undefined) return "missing";
    return stamp === (await this.stamp()) ? "current" : "old";
  }

  /** Ask, then make the environment or bring it up to date, with progress. Answers whether it is there. */
  async offer(state: "old" | "missing"): Promise<boolean> {
    const make = state === "old" ? "Update" : "Install";
    const words =
      state === "old"
        ? "The server of Open Interpreter that was installed for this extension is of another version."
        : "Open Interpreter needs its server, a Python program. It gets an environment of its own, and touches no other.";
    const choice = await vscode.window.showInformationMessage(words, make, "Use Another…");
    if (choice === "Use Another…") {
      await vscode.commands.executeCommand("workbench.action.openSettings", "oi-lsp.path");
    }
    if (choice !== make) return false;
    await vscode.window.withProgress(
      { location: vscode.ProgressLocation.Notification, title: "Open Interpreter", cancellable: true },
      (progress, token) => this.make((message) => progress.report({ message }), token),
    );
    return true;
  }

  private async make(report: (words: string) => void, token: vscode.CancellationToken): Promise<void> {
    const stop = new AbortController();
    token.onCancellationRequested(() => stop.abort());
    const options = { timeout: INSTALL_TIME, signal: stop.signal };
    report("looking for Python");
    const python = await findPython();
    // What is half made has no stamp, and is made anew.
    await fs.rm(this.folder, { recursive: true, force: true });
    await fs.mkdir(path.dirname(this.folder), { recursive: true });
    report("making an environment");
    await run(python, ["-m", "venv", this.folder], options);
    const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    const own = inEnvironment(this.folder, "python");
    report("installing what the server needs, exactly the versions that it was tested with");
    await run(own, [...pip, "--require-hashes", "-r", path.join(this.bundled, "requirements.txt")], options);
    report("installing the server");
    await run(own, [...pip, "--no-deps", await this.wheel()], options);
    await fs.writeFile(this.stampPath, await this.stamp());
  }

  private get stampPath(): string {
    return path.join(this.folder, ".made-of");
  }

  private async wheel(): Promise<string> {
    const names = await fs.readdir(this.bundled).catch(() => []);
    const wheel = names.find((name) => name.endsWith(".whl"));
    if (wheel === undefined) throw new Error("This build of the extension brings no server along: set oi-lsp.path.");
    return path.join(this.bundled, wheel);
  }

  private async stamp(): Promise<string> {
    const hash = createHash("sha256");
    hash.update(await fs.readFile(await this.wheel()));
    return hash.digest("hex");
  }
}

/** A Python that is new enough. Rejects with what to do where there is none. */
async function findPython(): Promise<string> {
  const code = "import sys; print(sys.executable); print(*sys.version_info[:2])";
  for (const name of ["python3", "python", "python3.13", "python3.12", "python3.11"]) {
    // Isolated, and not in the workspace: nothing there is imported.
    const said = await run(name, ["-I", "-c", code], { timeout: 10_000 }).catch(() => "");
    const [executable, version] = said.split("\n");
    const [major = 0, minor = 0] = (version ?? "").split(" ").map(Number);
    if (executable && (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1]))) return executable;
  }
  throw new Error(
    "No Python 3.11 or later was found. Install one (python.org, or your system's packages) and try again.",
  );
}
