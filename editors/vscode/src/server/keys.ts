// Providers' keys, kept by VS Code's own secret storage. They reach the server in its environment, which takes them out
// at once and hands them to its model worker alone; no setting, file, message or log holds them.
import * as vscode from "vscode";

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
const NAMES = "oi-lsp.keys";
const VARIABLE = /^[A-Z][A-Z0-9_]*_(API_KEY|APIKEY|TOKEN|KEY|CREDENTIALS)$/;

export class Keys {
  constructor(private readonly context: vscode.ExtensionContext) {}

  /** The names of the variables that have a key; the keys themselves are in the secret storage. */
  get names(): string[] {
    return this.context.globalState.get<string[]>(NAMES, []);
  }

  /** The environment that hands the keys over. */
  async environment(): Promise<Record<string, string>> {
    const found: Record<string, string> = {};
    for (const name of this.names) {
      const key = await this.context.secrets.get(PREFIX + name);
      if (key) found[name] = key;
    }
    return found;
  }

  /** Ask for a key. Answers whether one was given. */
  async ask(): Promise<boolean> {
    const name = await this.askName();
    if (name === undefined) return false;
    const key = await vscode.window.showInputBox({
      title: name,
      prompt: "The key. VS Code keeps it in its secret storage; only the process that talks to the provider gets it.",
      password: true,
      ignoreFocusOut: true,
    });
    if (!key) return false;
    await this.context.secrets.store(PREFIX + name, key.trim());
    await this.context.globalState.update(NAMES, [...new Set([...this.names, name])]);
    return true;
  }

  /** Ask which key is to be forgotten. Answers whether one was. */
  async remove(): Promise<boolean> {
    const name = await vscode.window.showQuickPick(this.names, { title: "Forget a provider's key" });
    if (name === undefined) return false;
    await this.context.secrets.delete(PREFIX + name);
    await this.context.globalState.update(
      NAMES,
      this.names.filter((each) => each !== name),
    );
    return true;
  }

  private async askName(): Promise<string | undefined> {
    const has = this.names;
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
