// What the parts of the panel share.
import type { SessionState } from "../protocol.js";
import { Refusal } from "./bridge.js";
import type { Conversation, Item } from "./conversation.js";

export interface App {
  readonly conversation: Conversation;
  sessionId: string;
  state: SessionState | undefined;
  trusted: boolean;
  /** What runs had changed on disk that could still be compared and taken back when the session was shown. */
  changeSets: Promise<Set<string>>;
  /** Say something to those who do not see the panel. */
  announce(words: string): void;
  /** Show a problem of the moment. */
  complain(words: string): void;
  /** Put a text where one writes, to be sent again from there on. */
  rewrite(item: Item): void;
}

/** Do what a button is for; show why where it cannot be done. */
export function act(app: App, work: () => Promise<unknown>): void {
  void work().catch((error: unknown) => {
    const remedy = error instanceof Refusal && error.remedy !== undefined ? ` ${error.remedy}` : "";
    app.complain((error instanceof Error ? error.message : String(error)) + remedy);
  });
}

/** Something that shows an item. */
export interface Row {
  readonly element: HTMLElement;
  /** Draw what is new. */
  update(): void;
}
