// Providers' keys, kept by VS Code's own secret storage. The server is handed them while it runs, for its model worker
// alone; no setting, file, environment or log holds them.
import * as vscode from "vscode";
import type { ProviderKey } from "../protocol.js";

/** The variables that providers' keys are known by, to be picked from. */
const KNOWN = [
  ["Anthropic", "ANTHROPIC_API_KEY"],
  ["OpenAI", "OPENAI_API_KEY"],
  ["Google Gemini", "GEMINI_API_KEY"],
  ["OpenRouter", "OPENROUTER_API_KEY"],
  ["DeepSeek", "DEEPSEEK_API_KEY"],
  ["xAI", "XAI_API_KEY"],
  ["Mistral", "MISTRAL_API_KEY"],
  ["Groq", "GROQ_API_KEY"],
] as const;

const PREFIX = "oi-lsp.key.";
/** The names that the server takes. */
const VARIABLE = /^[A-Z][A-Z0-9_]*_(KEY|APIKEY|TOKEN|CREDENTIALS)$/;
const KEY = /^[!-~]([ -~]*[!-~])?$/;

export class Keys {
  /** Every key that was read so far: what the log must not show. */
  private readonly known = new Set<string>();

  constructor(private readonly secrets: vscode.SecretStorage) {}

  /** Has `listener` called when a key was set or removed, in whatever window. */
  onChange(listener: () => void): vscode.Disposable {
    return this.secrets.onDidChange(({ key }) => {
      if (key.startsWith(PREFIX)) listener();
    });
  }

  /** The names of the variables that have a key. */
  async names(): Promise<string[]> {
    const stored = await this.secrets.keys();
    return stored.filter((each) => each.startsWith(PREFIX)).map((each) => each.slice(PREFIX.length));
  }

  /** All keys, as they are handed over. */
  async all(): Promise<ProviderKey[]> {
    const names = await this.names();
    const keys = await Promise.all(names.map((name) => this.secrets.get(PREFIX + name)));
    const found = names.flatMap((name, at) => (keys[at] ? [{ name, key: keys[at] }] : []));
    found.forEach(({ key }) => this.known.add(key));
    return found;
  }

  /** The log without the keys: at the level Trace it is told what goes over the wire. */
  keptOutOf(log: vscode.LogOutputChannel): vscode.LogOutputChannel {
    const trace = (message: string, ...rest: unknown[]) => {
      const hidden = [...this.known].map((key) => JSON.stringify(key).slice(1, -1));
      log.trace(
        hidden.reduce((words, key) => words.replaceAll(key, "[redacted]"), message),
        ...rest,
      );
    };
    return {
      ...log,
      trace,
      get logLevel() {
        return log.logLevel;
      },
    };
  }

  /** Ask for a key. Answers the name of the one that was given. */
  async ask(): Promise<string | undefined> {
    const name = await this.askName();
    if (name === undefined) return undefined;
    const key = await vscode.window.showInputBox({
      title: name,
      prompt: "The key. VS Code keeps it in its secret storage; only the process that talks to the provider gets it.",
      password: true,
      ignoreFocusOut: true,
      validateInput: (typed) => (typed === "" || KEY.test(typed.trim()) ? undefined : "A key is one line of ASCII."),
    });
    if (!key?.trim()) return undefined;
    await this.secrets.store(PREFIX + name, key.trim());
    return name;
  }

  /** Ask which key is to be forgotten. */
  async remove(): Promise<void> {
    const names = await this.names();
    if (names.length === 0) throw new Error("No key is kept here.");
    const name = await vscode.window.showQuickPick(names, { title: "Forget a provider's key" });
    if (name !== undefined) await this.secrets.delete(PREFIX + name);
  }

  private async askName(): Promise<string | undefined> {
    const has = await this.names();
    const items = KNOWN.map(([label, name]) => ({
      label,
      description: name,
      ...(has.includes(name) ? { detail: "A key is kept." } : {}),
    }));
    const other = { label: "Another provider…", description: "" };
    const picked = await vscode.window.showQuickPick([...items, other], { title: "Whose key?" });
    if (picked !== other) return picked?.description;
    return vscode.window.showInputBox({
      title: "Another provider",
      prompt: "The environment variable that LiteLLM reads this provider's key from",
      placeHolder: "TOGETHERAI_API_KEY",
      validateInput: (name) => (VARIABLE.test(name) ? undefined : "A name such as TOGETHERAI_API_KEY"),
    });
  }
}
