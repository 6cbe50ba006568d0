// Which oi-lsp is started.
import * as fs from "node:fs/promises";
import * as os from "node:os";
import * as path from "node:path";
import * as vscode from "vscode";
import type { Installation } from "./installation.js";
import { environmentOf, filesMeant, inEnvironment } from "./places.js";
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
  if (named !== "") return { path: await namedBySetting(named), why: "the setting oi-lsp.path" };
  const ofWorkspace = vscode.workspace.isTrusted ? await inWorkspace() : undefined;
  if (ofWorkspace !== undefined) return { path: ofWorkspace, why: "the workspace's Python environment" };
  const program = await installation.program();
  return program === undefined ? undefined : { path: program, why: "the extension's own environment" };
}

async function namedBySetting(named: string): Promise<string> {
  let reason = `names no program: ${named}`;
  try {
    for (const file of filesMeant(named, os.homedir())) if (await isProgram(file)) return file;
  } catch (error) {
    reason = error instanceof Error ? error.message : String(error);
  }
  throw new Error(`The setting oi-lsp.path ${reason}. Change it, or leave it empty.`);
}

async function inWorkspace(): Promise<string | undefined> {
  const environments: string[] = [];
  const python = await activePython();
  if (python !== undefined) environments.push(environmentOf(python));
  for (const folder of vscode.workspace.workspaceFolders ?? []) {
    environments.push(...[".venv", "venv"].map((name) => path.join(folder.uri.fsPath, name)));
  }
  for (const environment of environments) {
    const program = inEnvironment(environment, "oi-lsp");
    if (await isProgram(program)) return program;
  }
  return undefined;
}

/** Whether a file is there that may be run; on Windows, whether it is there. */
async function isProgram(file: string): Promise<boolean> {
  try {
    await fs.access(file, fs.constants.X_OK);
    return (await fs.stat(file)).isFile();
  } catch {
    return false;
  }
}
