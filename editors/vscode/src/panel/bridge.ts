// The way to the extension: commands for the server, deeds for VS Code, and what is kept over a reload.
import type { Chip, Deed, FromPanel, ToPanel } from "../messages.js";
import type { Commands } from "../protocol.js";

interface VsCode {
  postMessage(message: FromPanel): void;
  getState(): unknown;
  setState(state: unknown): void;
}
declare function acquireVsCodeApi(): VsCode;

const vscode = acquireVsCodeApi();
const waiting = new Map<number, { resolve: (answer: unknown) => void; reject: (error: Error) => void }>();
let count = 0;

/** Why a command was not done, with what to do about it. */
export class Refusal extends Error {
  constructor(
    message: string,
    readonly remedy: string | undefined,
  ) {
    super(message);
  }
}

/** Send a command to the server. Rejects with a `Refusal`. */
export function command<C extends keyof Commands>(name: C, params: Commands[C][0]): Promise<Commands[C][1]> {
  const id = ++count;
  return new Promise((resolve, reject) => {
    waiting.set(id, { resolve: resolve as (answer: unknown) => void, reject });
    post({ type: "command", id, name, params });
  });
}

/** Have VS Code do something. */
export function deed(deed: Deed): void {
  post({ type: "deed", deed });
}

export function post(message: FromPanel): void {
  vscode.postMessage(message);
}

/** Settle the command that this message answers. Answers whether it is such a message. */
export function settled(message: ToPanel): boolean {
  if (message.type !== "answer" && message.type !== "refusal") return false;
  const asked = waiting.get(message.id);
  waiting.delete(message.id);
  if (message.type === "answer") asked?.resolve(message.answer);
  else asked?.reject(new Refusal(message.message, message.remedy));
  return true;
}

/** What the person has not sent yet; kept while the panel is hidden, and over a reload of the window. */
export interface Kept {
  draft?: string;
  chips?: Chip[];
  /** The code that waits, as it was edited so far. */
  edited?: { proposalId: string; code: string };
}

export function kept(): Kept {
  return vscode.getState() ?? {};
}

/** Keep this, and the rest as it was. */
export function keep(part: Kept): void {
  vscode.setState({ ...kept(), ...part });
}
