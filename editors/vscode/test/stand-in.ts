// Stands in for the extension ms-python.python, which no registry of this project's brings: the part of its documented API
// that is used here (`environments` in @vscode/python-extension), and a command that chooses the next interpreter.
import { spawnSync } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import { TOP } from "./workbench.ts";

export const CHOOSE = "Python: Select the Next Interpreter";

const MAIN = `const vscode = require("vscode");
const pythons = process.env.TEST_PYTHONS.split(":");
const changed = new vscode.EventEmitter();
const active = () => ({ id: pythons[0], path: pythons[0] });
exports.activate = (context) => {
  context.subscriptions.push(vscode.commands.registerCommand("python.next", () => {
    pythons.push(pythons.shift());
    changed.fire({ ...active(), resource: undefined });
  }));
  return {
    ready: Promise.resolve(),
    environments: {
      getActiveEnvironmentPath: active,
      resolveEnvironment: async ({ path }) => ({ executable: { uri: vscode.Uri.file(path) } }),
      onDidChangeActiveEnvironmentPath: changed.event,
    },
  };
};
`;
const MANIFEST = {
  name: "python",
  publisher: "ms-python",
  version: "1.0.0",
  engines: { vscode: "^1.106.0" },
  main: "./main.js",
  activationEvents: [],
  contributes: { commands: [{ command: "python.next", title: CHOOSE }] },
};

/** Its files, for a workbench's extensions. */
export const PYTHON_EXTENSION = {
  "ms-python.python-1.0.0/package.json": JSON.stringify(MANIFEST),
  "ms-python.python-1.0.0/main.js": MAIN,
};

/** Make a Python environment that has this checkout's packages, with the server's program or without. Answers its
 * interpreter. */
export function environment(folder: string, hasServer: boolean): string {
  const venv = path.join(TOP, ".venv");
  const [bin, python] = [path.join(folder, "bin"), path.join(venv, "bin", "python")];
  const made = spawnSync(python, ["-m", "venv", "--without-pip", folder], { encoding: "utf8" });
  if (made.status !== 0) throw new Error(made.stderr);
  const [lib = ""] = fs.readdirSync(path.join(folder, "lib"));
  const packages = path.join("lib", lib, "site-packages");
  fs.writeFileSync(path.join(folder, packages, "checkout.pth"), path.join(venv, packages));
  if (hasServer) fs.symlinkSync(path.join(venv, "bin", "oi-lsp"), path.join(bin, "oi-lsp"));
  return path.join(bin, "python");
}
