// What the panel and the extension say to each other.
import type { Attachment, Commands, Notifications, SessionOpenResult } from "./protocol.js";
import type { Status } from "./server/server.js";

/** What only VS Code can do for the panel. */
export type Deed =
  | { what: "openLink"; url: string }
  | { what: "openCode"; language: string; code: string }
  | { what: "compareCode"; language: string; before: string; after: string }
  | { what: "compareFile"; changeId: string; path: string }
  | { what: "openFile"; path: string }
  | { what: "copy"; text: string }
  | { what: "attach" }
  | { what: "run"; command: HostCommand };

/** Commands of VS Code's that the panel has buttons for. */
export const HOST_COMMANDS = [
  "oi-lsp.chooseModel",
  "oi-lsp.history",
  "oi-lsp.newChat",
  "oi-lsp.openSettings",
  "oi-lsp.restartServer",
  "oi-lsp.setKey",
  "oi-lsp.showLog",
  "oi-lsp.tour",
  "workbench.trust.manage",
] as const;
export type HostCommand = (typeof HOST_COMMANDS)[number];

/** An attachment that waits to be sent, and what the panel shows of it. */
export interface Chip {
  title: string;
  detail: string;
  attachment: Attachment;
}

export type FromPanel =
  | { type: "ready" }
  | { type: "command"; id: number; name: keyof Commands; params: unknown }
  | { type: "branch" | "undo"; messageId: string }
  | { type: "deed"; deed: Deed };

/** A notification of the server's. */
export type Told = { [M in keyof Notifications]: { method: M; params: Notifications[M] } }[keyof Notifications];

export type ToPanel =
  | { type: "answer"; id: number; answer: unknown }
  | { type: "refusal"; id: number; message: string; remedy?: string | undefined }
  | { type: "status"; status: Status }
  | { type: "session"; opened: SessionOpenResult }
  | { type: "trust"; trusted: boolean }
  | { type: "colours"; colours: Record<string, string> }
  | { type: "chips"; chips: Chip[] }
  | { type: "write"; text: string }
  | { type: "focus" }
  | { type: "told"; told: Told[] };
