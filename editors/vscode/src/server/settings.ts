// VS Code's settings in the shape of a profile, which is what the server takes.
import * as vscode from "vscode";

export const SECTION = "oi-lsp";

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
  const python = await activePython();
  return python === undefined ? given : { "computer.python": python, ...given };
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

/** The Python that the Python extension has chosen for the workspace; it belongs to the workspace, so trust is needed. */
export async function activePython(): Promise<string | undefined> {
  if (!vscode.workspace.isTrusted) return undefined;
  const environments = await pythonApi();
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  const active = environments && (await environments.resolveEnvironment(environments.getActiveEnvironmentPath(folder)));
  return active?.executable.uri?.fsPath;
}

/** Has `listener` called when another Python was chosen. */
export async function onPythonChange(listener: () => void): Promise<vscode.Disposable | undefined> {
  return (await pythonApi())?.onDidChangeActiveEnvironmentPath(listener);
}
