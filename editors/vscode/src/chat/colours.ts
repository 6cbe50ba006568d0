// The editor's own colours for code: VS Code tells a webview the colours of its theme, but not those of tokens, so they
// are read from the theme itself.
import * as path from "node:path";
import { parse } from "jsonc-parser";
import * as vscode from "vscode";

/** The classes that the panel's code has, and the scopes of TextMate's that mean the same, the best first. */
const SCOPES: Record<string, string[]> = {
  keyword: ["keyword.control", "keyword"],
  operator: ["keyword.operator"],
  string: ["string"],
  comment: ["comment"],
  number: ["constant.numeric", "constant"],
  bool: ["constant.language", "constant"],
  variable: ["variable"],
  function: ["entity.name.function", "support.function"],
  type: ["entity.name.type", "support.type", "entity.name.class"],
  property: ["variable.other.property", "support.type.property-name", "variable"],
  meta: ["meta.preprocessor", "meta.decorator", "entity.name.function.decorator"],
  tag: ["entity.name.tag"],
};

interface Rule {
  scope?: string | string[];
  settings?: { foreground?: string };
}

interface Theme {
  include?: string;
  tokenColors?: Rule[] | string;
}

interface Contributed {
  id?: string;
  label: string;
  path: string;
}

/** The colour of each class, as CSS has it. Empty where the theme cannot be read: the panel has colours of its own. */
export async function tokenColours(log: vscode.LogOutputChannel): Promise<Record<string, string>> {
  const name = themeName();
  for (const extension of vscode.extensions.all) {
    const themes = (extension.packageJSON as { contributes?: { themes?: Contributed[] } }).contributes?.themes ?? [];
    const theme = themes.find(({ id, label }) => id === name || label === name);
    if (theme === undefined) continue;
    try {
      return coloursOf(await rules(vscode.Uri.joinPath(extension.extensionUri, theme.path)));
    } catch (error) {
      log.info(`The theme ${name} cannot be read: ${String(error)}`);
    }
  }
  return {};
}

/** The theme that is on: VS Code says only its kind, and goes by other settings where it follows the system's. */
function themeName(): string {
  const settings = vscode.workspace.getConfiguration();
  const isDark = vscode.window.activeColorTheme.kind === vscode.ColorThemeKind.Dark;
  const preferred = isDark ? "workbench.preferredDarkColorTheme" : "workbench.preferredLightColorTheme";
  const follows = settings.get("window.autoDetectColorScheme") === true;
  return settings.get<string>(follows ? preferred : "workbench.colorTheme", "");
}

async function rules(file: vscode.Uri): Promise<Rule[]> {
  const theme = parse(new TextDecoder().decode(await vscode.workspace.fs.readFile(file))) as Theme;
  const beside = (name: string) => vscode.Uri.joinPath(file, "..", ...name.split(path.posix.sep));
  const included = theme.include === undefined ? [] : await rules(beside(theme.include));
  return [...included, ...(Array.isArray(theme.tokenColors) ? theme.tokenColors : [])];
}

/** By the rules of TextMate, as far as one scope without parents needs them: the longest prefix, then the last rule. */
export function coloursOf(rules: Rule[]): Record<string, string> {
  const byScope = new Map<string, string>();
  for (const { scope, settings } of rules) {
    const scopes = typeof scope === "string" ? scope.split(",") : (scope ?? []);
    for (const each of scopes) {
      const foreground = settings?.foreground;
      if (foreground !== undefined && /^#[0-9a-f]{3,8}$/i.test(foreground)) byScope.set(each.trim(), foreground);
    }
  }
  const found: Record<string, string> = {};
  for (const [name, scopes] of Object.entries(SCOPES)) {
    const colour = scopes.map((scope) => longest(byScope, scope)).find((each) => each !== undefined);
    if (colour !== undefined) found[name] = colour;
  }
  return found;
}

function longest(byScope: Map<string, string>, scope: string): string | undefined {
  const parts = scope.split(".");
  for (let length = parts.length; length > 0; length--) {
    const colour = byScope.get(parts.slice(0, length).join("."));
    if (colour !== undefined) return colour;
  }
  return undefined;
}
