// The messages of a session, followed chunk by chunk as docs/protocol.md says ("Following the stream").
import type { Changes, Chunks, LmcChunk, LmcMessage, SessionOpenResult } from "../protocol.js";

/** A message as it is so far, or something that stands between messages: an error, what a run changed on disk. */
export interface Item {
  readonly id: string;
  readonly role: LmcMessage["role"];
  readonly type: string;
  readonly format: string | undefined;
  readonly recipient: string | undefined;
  readonly parent: string | undefined;
  text: string;
  done: boolean;
  /** Of code that runs: the line that does, from 1. */
  line?: number | undefined;
  /** Of code that failed: the line, from 1. */
  failedAt?: number;
  /** Of what a run changed on disk. */
  change?: Change;
  /** Of what the sandbox kept a run from: what of it can still be allowed. */
  denied?: Denied;
}

export interface Denied {
  paths: string[];
  network: boolean;
}

export interface Change {
  id: string;
  files: { path: string; kind: string; what: string; added?: number; removed?: number }[];
  more: number;
}

export interface Listener {
  /** An item came, at the end. */
  added(item: Item): void;
  /** An item has more text, or has ended. */
  changed(item: Item): void;
  /** An item is no more. */
  dropped(item: Item): void;
  /** The conversation was rewritten, or something was missed that cannot be had again: it must be read anew. */
  stale(): void;
  /** Chunks are missing after this number. */
  missed(afterSeq: number): void;
  /** A turn has ended. */
  completed(): void;
}

export class Conversation {
  readonly items: Item[] = [];
  private readonly byId = new Map<string, Item>();
  private readonly proposals = new Map<string, string>();
  private next = 1;
  private asked = false;

  constructor(private readonly listener: Listener) {}

  /** Take a session as it is now in the place of what was here; nobody is told. */
  load(opened: SessionOpenResult): void {
    this.items.length = 0;
    this.byId.clear();
    this.next = opened.nextSeq;
    this.asked = false;
    for (const message of opened.messages) {
      const item = this.itemOf(message);
      item.text = textOf(message.content);
      item.done = true;
      this.insert(item);
    }
  }

  /** What runs changed on disk, which whole messages do not say. Answers the items that are new. */
  addChanges(changes: Changes[]): Item[] {
    return changes.flatMap((found) => {
      if (found.parent === undefined || this.items.some((item) => item.change?.id === found.changeId)) return [];
      const files = found.files.map(({ path, kind, what }) => ({ path, kind, what }));
      const change = { id: found.changeId, files, more: 0 };
      const item = { ...toldItem("changes", found.changeId, found.parent), change };
      this.insert(item);
      return [item];
    });
  }

  item(id: string | undefined): Item | undefined {
    return id === undefined ? undefined : this.byId.get(id);
  }

  /** The sandbox allows more from now on: to write to a path, or the network where there is none. */
  allow(path: string | undefined): void {
    for (const item of this.items) {
      if (item.denied === undefined) continue;
      const { paths, network } = item.denied;
      item.denied = { paths: paths.filter((each) => each !== path), network: network && path !== undefined };
      this.listener.changed(item);
    }
  }

  /** The code that a proposal is about. */
  proposed(proposalId: string): Item | undefined {
    const isBlock = (item: Item) => item.type === "code" && item.role === "assistant" && item.parent === undefined;
    return this.item(this.proposals.get(proposalId)) ?? this.items.findLast(isBlock);
  }

  /** Take the next chunks. */
  take({ seq, nextSeq, chunks }: Chunks): void {
    if (seq > this.next) {
      if (!this.asked) this.listener.missed(this.next - 1);
      this.asked = true;
      return;
    }
    this.asked = false;
    if (seq < this.next && !this.rewind(chunks[0])) return;
    this.next = nextSeq;
    chunks.forEach((chunk) => this.apply(chunk));
  }

  /** Forget the message that a chunk begins, and all that came after it, as it is sent again. */
  private rewind(first: LmcChunk | undefined): boolean {
    if (first === undefined) return false;
    const at = this.items.findIndex((item) => item.id === first.id);
    if (at < 0) return true;
    for (const item of this.items.splice(at).reverse()) {
      this.byId.delete(item.id);
      this.listener.dropped(item);
    }
    return true;
  }

  private apply(chunk: LmcChunk): void {
    switch (chunk.type) {
      case "status":
        if (chunk.parent === undefined) this.listener.completed();
        return;
      case "confirmation":
        if (chunk.id !== undefined && chunk.parent !== undefined) this.proposals.set(chunk.id, chunk.parent);
        return;
      case "command":
        this.applyCommand(chunk);
        return;
      case "error":
        this.add({ ...this.itemOf(chunk), text: textOf(chunk.content), done: true });
        return;
    }
    const item = this.item(chunk.id);
    if (item === undefined) {
      // A whole message in one chunk has no start in a replay.
      const made = this.itemOf(chunk);
      if (chunk.start !== true) made.text = textOf(chunk.content);
      this.add(made);
    } else if (chunk.end === true) {
      item.done = true;
      this.listener.changed(item);
    } else if (chunk.start !== true) this.extend(item, chunk);
  }

  private extend(item: Item, chunk: LmcChunk): void {
    if (chunk.format !== "active_line") {
      item.text += textOf(chunk.content);
      this.listener.changed(item);
      return;
    }
    const code = this.item(item.parent);
    if (code === undefined) return;
    code.line = chunk.content === null ? undefined : Number(chunk.content);
    if (chunk.failure !== undefined) code.failedAt = chunk.failure.line;
    this.listener.changed(code);
  }

  private applyCommand(chunk: LmcChunk): void {
    if (chunk.content === "undo" || chunk.content === "reset") this.listener.stale();
    const item = toldItem(chunk.format ?? "", chunk.id ?? "", chunk.parent ?? "");
    if (chunk.format === "changes") {
      const said = this.items.at(-1);
      const isWords = said?.parent === chunk.parent && said?.type === "message" && said.recipient === "user";
      if (said !== undefined && isWords) this.drop(said);
      this.add({ ...item, change: chunk.content as Change });
    } else if (chunk.format === "denied") this.add({ ...item, denied: chunk.content as Denied });
    else if (chunk.format === "unasked") this.add({ ...item, text: (chunk.content as { words: string }).words });
  }

  private itemOf(from: LmcMessage | LmcChunk): Item {
    const { role, type, format, recipient } = from;
    // Conversations from elsewhere do not say which code their output is of: it is that before it.
    const isResult = role === "computer" && RESULTS.has(type);
    const parent = from.parent ?? (isResult ? this.items.findLast((item) => item.type === "code")?.id : undefined);
    return { id: from.id ?? `unnamed-${++unnamed}`, role, type, format, recipient, parent, text: "", done: false };
  }

  private add(item: Item): void {
    this.insert(item);
    this.listener.added(item);
  }

  private insert(item: Item): void {
    this.items.push(item);
    this.byId.set(item.id, item);
  }

  private drop(item: Item): void {
    this.items.splice(this.items.indexOf(item), 1);
    this.byId.delete(item.id);
    this.listener.dropped(item);
  }
}

let unnamed = 0;
const RESULTS = new Set(["console", "image", "code"]);

/** What is told of a block, beside the messages. */
function toldItem(type: string, id: string, parent: string): Item {
  return { id, role: "computer", type, format: undefined, recipient: "user", parent, text: "", done: true };
}

function textOf(content: unknown): string {
  return typeof content === "string"
    ? content
    : content === undefined || content === null
      ? ""
      : JSON.stringify(content);
}
