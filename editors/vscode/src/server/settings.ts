// VS Code's settings in the shape of a profile, which is what the server takes.
import * as vscode from "vscode";

export const SECTION = "oi-lsp";
/** Milliseconds that the Python extension is waited for before the server starts without its word. */
const PATIENCE = 5000;

/** The Python that the server was told of. */
let told: string | undefined;

/** What the person set here, as a profile says it; what is not set is left to the server's own layers. */
export async function profile(): Promise<Record<string, unknown>> {
  const settings = vscode.workspace.getConfiguration(SECTION);
  const given: Record<string, unknown> = { ...settings.get<Record<string, unknown>>("settings", {}) };
  for (const [ours, theirs] of [
    ["model", "llm.model"],
    ["autoRun", "auto_run"],
    ["sandbox", "sandbox"],
    ["safeMode", "safe_mode"],
  ] as const) {
    const value = chosen(settings, ours);
    if (value !== undefined && value !== "") given[theirs] = value;
  }
  if (!vscode.workspace.isTrusted) given["run_code"] = false;
  told = await activePython();
  return told === undefined ? given : { "computer.python": told, ...given };
}

/** Show the person settings: those of the machine that this runs on, which in a remote window are a page of their own. */
export async function openSettings(query: string): Promise<void> {
  const [command, argument] =
    vscode.env.remoteName === undefined
      ? ["workbench.action.openSettings", query]
      : ["workbench.action.openRemoteSettings", { query }];
  await vscode.commands.executeCommand(command, argument);
}

/** The value that the person chose: what is only a default here must not hide what a profile of theirs says. */
function chosen(settings: vscode.WorkspaceConfiguration, name: string): unknown {
  return settings.inspect(name)?.globalValue;
}

interface PythonApi {
  ready?: Promise<void>;
  environments: {
    getActiveEnvironmentPath(resource?: vscode.Uri): { path: string };
    resolveEnvironment(path: { path: string }): Promise<{ executable: { uri?: vscode.Uri } } | undefined>;
    onDidChangeActiveEnvironmentPath: vscode.Event<unknown>;
  };
}

async function pythonApi(): Promise<PythonApi["environments"] | undefined> {
  const extension = vscode.extensions.getExtension<PythonApi>("ms-python.python");
  if (!extension) return undefined;
  const api = extension.isActive ? extension.exports : await extension.activate();
  await api.ready;
  return api.environments;
}

/** The Python that the Python extension has chosen for the workspace; it belongs to the workspace, so trust is needed.
 * None where that extension fails, or takes long: it looks through the whole machine. */
export async function activePython(): Promise<string | undefined> {
  if (!vscode.workspace.isTrusted) return undefined;
  const late = new Promise<undefined>((resolve) => setTimeout(resolve, PATIENCE, undefined));
  return Promise.race([chosenPython().catch(() => undefined), late]);
}

async function chosenPython(): Promise<string | undefined> {
  const environments = await pythonApi();
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  const active = environments && (await environments.resolveEnvironment(environments.getActiveEnvironmentPath(folder)));
  return active?.executable.uri?.fsPath;
}

/** Has `listener` called when another Python was chosen, or when the one that was is known at last. */
export async function onPythonChange(listener: () => void): Promise<vscode.Disposable | undefined> {
  const environments = await pythonApi();
  const listening = environments?.onDidChangeActiveEnvironmentPath(listener);
  if ((await activePython()) !== told) listener();
  return listening;
}
