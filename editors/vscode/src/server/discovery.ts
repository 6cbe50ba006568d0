// Which oi-lsp is started.
import * as fs from "node:fs/promises";
import * as path from "node:path";
import * as vscode from "vscode";
import { inEnvironment, type Installation } from "./installation.js";
import { activePython, SECTION } from "./settings.js";

/** A program that can be started, and why it is this one, for the person. */
export interface Program {
  path: string;
  why: string;
}

/** The server to start: the setting's, else the trusted workspace's, else the extension's own. Asks before it installs;
 * undefined where the person declined. Rejects where the setting names nothing that can be started. */
export async function findProgram(installation: Installation): Promise<Program | undefined> {
  const named = vscode.workspace.getConfiguration(SECTION).get<string>("path", "").trim();
  if (named !== "") {
    if (!(await isProgram(named))) throw new Error(`The setting oi-lsp.path names no program: ${named}`);
    return { path: named, why: "the setting oi-lsp.path" };
  }
  const ofWorkspace = vscode.workspace.isTrusted ? await inWorkspace() : undefined;
  if (ofWorkspace !== undefined) return { path: ofWorkspace, why: "the workspace's Python environment" };
  const own = { path: installation.program, why: "the extension's own environment" };
  const state = await installation.state();
  if (state === "current") return own;
  if (await installation.offer(state)) return own;
  return state === "old" ? own : undefined;
}

async function inWorkspace(): Promise<string | undefined> {
  const environments: string[] = [];
  const python = await activePython();
  if (python !== undefined) environments.push(path.dirname(path.dirname(python)));
  for (const folder of vscode.workspace.workspaceFolders ?? []) {
    environments.push(...[".venv", "venv"].map((name) => path.join(folder.uri.fsPath, name)));
  }
  for (const environment of environments) {
    const program = inEnvironment(environment, "oi-lsp");
    if (await isProgram(program)) return program;
  }
  return undefined;
}

async function isProgram(file: string): Promise<boolean> {
  if (!path.isAbsolute(file)) return false;
  return fs.access(file, fs.constants.X_OK).then(
    () => true,
    () => false,
  );
}
