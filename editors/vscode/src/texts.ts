// Texts that editors show and nobody can write: sides of a difference, a file that is not there yet.
import * as vscode from "vscode";

const SCHEME = "oi-lsp";
/** The most texts that are kept for editors that show them. */
const KEPT = 100;

export class Texts implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly texts = new Map<string, string>();
  private readonly registration = vscode.workspace.registerTextDocumentContentProvider(SCHEME, this);
  private count = 0;

  /** Have a text at an address; the name says its language, by its ending. */
  keep(name: string, text: string): vscode.Uri {
    const key = String(++this.count);
    this.texts.set(key, text);
    this.texts.delete(String(this.count - KEPT));
    return vscode.Uri.from({ scheme: SCHEME, path: `/${name}`, query: key });
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.texts.get(uri.query) ?? "This text is no longer kept.";
  }

  dispose(): void {
    this.registration.dispose();
  }
}
