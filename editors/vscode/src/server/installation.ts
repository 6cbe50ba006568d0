// The environment that the extension makes for the server, from the wheel and the lock file that it brings along. Each
// version has one of its own: another window may still run the one before, and what is half made is never taken.
import { createHash } from "node:crypto";
import * as fs from "node:fs/promises";
import * as path from "node:path";
import * as vscode from "vscode";
import { ASK_PYTHON, inEnvironment, newEnough, pythonCommands } from "./places.js";
import { run } from "./process.js";
import { openSettings } from "./settings.js";

const INSTALL_TIME = 15 * 60_000;
const ASKING_TIME = 10_000;
/** Written when all is installed. */
const MARK = ".made-of";

export class Installation {
  private readonly folder: string;
  private readonly bundled: string;

  constructor(private readonly context: vscode.ExtensionContext) {
    this.folder = path.join(context.globalStorageUri.fsPath, "server");
    this.bundled = path.join(context.extensionPath, "dist", "server");
  }

  /** The server that is installed, brought up to date or made now where the person says so. Undefined where there is
   * none and they declined. */
  async program(): Promise<string | undefined> {
    const wanted = path.join(this.folder, await this.version());
    const [made, ...older] = await this.made();
    if (made !== wanted && !(await this.offer(wanted, made !== undefined))) {
      return made === undefined ? undefined : inEnvironment(made, "oi-lsp");
    }
    // The last one may still run in another window.
    if (made === wanted) {
      for (const each of older.slice(1)) await fs.rm(each, { recursive: true, force: true }).catch(() => undefined);
    }
    return inEnvironment(wanted, "oi-lsp");
  }

  /** The environments that are whole, the one that is wanted or else the newest first. */
  private async made(): Promise<string[]> {
    const wanted = await this.version();
    const found: { folder: string; at: number }[] = [];
    for (const name of await fs.readdir(this.folder).catch(() => [])) {
      const folder = path.join(this.folder, name);
      const mark = await fs.stat(path.join(folder, MARK)).catch(() => undefined);
      // The Python that it was made with may have been removed since.
      const python = await fs.stat(inEnvironment(folder, "python")).catch(() => undefined);
      if (mark && python) found.push({ folder, at: name === wanted ? Infinity : mark.mtimeMs });
    }
    return found.sort((one, other) => other.at - one.at).map(({ folder }) => folder);
  }

  /** Ask, then make the environment, with progress. Answers whether it is there. */
  private async offer(folder: string, isUpdate: boolean): Promise<boolean> {
    const make = isUpdate ? "Update" : "Install";
    const words = isUpdate
      ? "The server of Open Interpreter that was installed for this extension is of another version."
      : "Open Interpreter needs its server, a Python program. It gets an environment of its own, and touches no other.";
    const choice = await vscode.window.showInformationMessage(words, make, "Use Another…");
    if (choice === "Use Another…") {
      await openSettings("oi-lsp.path");
    }
    if (choice !== make) return false;
    const stop = new AbortController();
    const making = vscode.window.withProgress(
      { location: vscode.ProgressLocation.Notification, title: "Open Interpreter", cancellable: true },
      (progress, token) => {
        token.onCancellationRequested(() => stop.abort());
        return this.make(folder, (message) => progress.report({ message }), stop.signal);
      },
    );
    return making.then(
      () => true,
      (error: unknown) => {
        if (stop.signal.aborted) return false;
        throw error;
      },
    );
  }

  private async make(folder: string, report: (words: string) => void, signal: AbortSignal): Promise<void> {
    // Not in the workspace, where files could be taken for modules or, on Windows, for programs.
    const options = { timeout: INSTALL_TIME, signal, cwd: this.context.extensionPath };
    report("looking for Python");
    const python = await this.findPython();
    await fs.rm(folder, { recursive: true, force: true });
    await fs.mkdir(path.dirname(folder), { recursive: true });
    report("making an environment");
    await run(python, ["-m", "venv", folder], options);
    const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    const own = inEnvironment(folder, "python");
    report("installing what the server needs, exactly the versions that it was tested with");
    await run(own, [...pip, "--require-hashes", "-r", this.requirements], options);
    report("installing the server");
    await run(own, [...pip, "--no-deps", await this.wheel()], options);
    await fs.writeFile(path.join(folder, MARK), path.basename(await this.wheel()));
  }

  /** A Python that is new enough. Rejects with what to do where there is none. */
  private async findPython(): Promise<string> {
    for (const [name = "", ...args] of pythonCommands()) {
      // Isolated, so that nothing beside it is imported.
      const options = { timeout: ASKING_TIME, cwd: this.context.extensionPath };
      const said = await run(name, [...args, "-I", "-c", ASK_PYTHON], options).catch(() => "");
      const python = newEnough(said);
      if (python !== undefined) return python;
    }
    throw new Error(
      "No Python 3.11 or later was found. Install one (python.org, or your system's packages) and try again.",
    );
  }

  private get requirements(): string {
    return path.join(this.bundled, "requirements.txt");
  }

  private async wheel(): Promise<string> {
    const names = await fs.readdir(this.bundled).catch(() => []);
    const wheel = names.find((name) => name.endsWith(".whl"));
    if (wheel === undefined) throw new Error("This build of the extension brings no server along: set oi-lsp.path.");
    return path.join(this.bundled, wheel);
  }

  /** What names the version: of what the environment is made. Short, as paths on Windows are. */
  private async version(): Promise<string> {
    const hash = createHash("sha256");
    for (const file of [await this.wheel(), this.requirements]) hash.update(await fs.readFile(file));
    return hash.digest("hex").slice(0, 12);
  }
}
