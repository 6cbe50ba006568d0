// The messages of a session, followed chunk by chunk as docs/protocol.md says ("Following the stream").
import type { Chunks, LmcChunk } from "../protocol.js";

/** A message as it is so far, or something that stands between messages: an error, what a run changed on disk. */
export interface Item {
  readonly id: string;
  readonly role: LmcChunk["role"];
  readonly type: string;
  readonly format: string | undefined;
  readonly recipient: string | undefined;
  readonly parent: string | undefined;
  /** Said before the panel was there: it may be that it cannot be acted upon any more. */
  readonly replayed: boolean;
  /** The turn that it is of, which an undo takes back; undefined: it stands beside the conversation. */
  readonly turn: number | undefined;
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
  /** Chunks are missing after this number. */
  missed(afterSeq: number): void;
  /** A turn has ended. */
  completed(): void;
}

export class Conversation {
  readonly items: Item[] = [];
  private readonly byId = new Map<string, Item>();
  private readonly proposals = new Map<string, string>();
  /** What stands beside the conversation: a mark, and all that has it as its parent. */
  private readonly beside = new Set<string>();
  private turns: number[] = [];
  private betweenTurns = true;
  private isReplay = false;
  private next = 1;
  private asked = false;

  constructor(private readonly listener: Listener) {}

  /** Whether there is nothing, and nothing is on its way. */
  get isEmpty(): boolean {
    return this.items.length === 0 && !this.asked;
  }

  /** Forget what is here, as another session is shown, and ask for all that was said in that before this chunk. */
  begin(nextSeq: number): void {
    this.items.length = 0;
    [this.byId, this.proposals, this.beside].forEach((each) => each.clear());
    this.turns = [];
    this.betweenTurns = true;
    this.next = 1;
    this.asked = nextSeq > 1;
    if (this.asked) this.listener.missed(0);
  }

  item(id: string | undefined): Item | undefined {
    return id === undefined ? undefined : this.byId.get(id);
  }

  /** The sandbox allows this from now on. */
  private allow(allowed: Denied): void {
    for (const item of this.items) {
      if (item.denied === undefined) continue;
      const { paths, network } = item.denied;
      const left = paths.filter((each) => !allowed.paths.includes(each));
      item.denied = { paths: left, network: network && !allowed.network };
      this.listener.changed(item);
    }
  }

  /** The code that a proposal is about. */
  proposed(proposalId: string): Item | undefined {
    const isBlock = (item: Item) => item.type === "code" && item.role === "assistant" && item.parent === undefined;
    return this.item(this.proposals.get(proposalId)) ?? this.items.findLast(isBlock);
  }

  /** Take the next chunks. */
  take({ seq, nextSeq, chunks, replay }: Chunks): void {
    if (seq > this.next) {
      if (!this.asked) this.listener.missed(this.next - 1);
      this.asked = true;
      return;
    }
    this.asked = false;
    if (seq < this.next && !this.rewind(chunks[0])) return;
    this.next = nextSeq;
    this.isReplay = replay === true;
    chunks.forEach((chunk) => this.apply(chunk));
  }

  /** Forget the message that a chunk begins, and all that came after it, as it is sent again. */
  private rewind(first: LmcChunk | undefined): boolean {
    if (first === undefined) return false;
    const at = this.items.findIndex((item) => item.id === first.id);
    if (at < 0) return true;
    const gone = this.items.splice(at);
    for (const item of gone.reverse()) {
      this.byId.delete(item.id);
      this.listener.dropped(item);
    }
    const left = new Set(this.items.map(({ turn }) => turn));
    const begun = this.turns.length;
    this.turns = this.turns.filter((turn) => left.has(turn));
    this.betweenTurns ||= this.turns.length < begun;
    return true;
  }

  private apply(chunk: LmcChunk): void {
    switch (chunk.type) {
      case "status":
        if (this.isBeside(chunk)) return;
        this.betweenTurns = true;
        if (!this.isReplay) this.listener.completed();
        return;
      case "confirmation":
        if (chunk.id !== undefined && chunk.parent !== undefined) this.proposals.set(chunk.id, chunk.parent);
        return;
      case "command":
        if (chunk.role === "user") this.rewrite(chunk);
        else this.tell(chunk);
        return;
      case "error":
        this.add({ ...this.itemOf(chunk), text: textOf(chunk.content), done: true });
        return;
      default:
        this.applyMessage(chunk);
    }
  }

  private applyMessage(chunk: LmcChunk): void {
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
    const isLine = chunk.format === "active_line";
    if (!isLine) {
      item.text += textOf(chunk.content);
      this.listener.changed(item);
    }
    const code = this.item(item.parent);
    if (code === undefined || (!isLine && chunk.failure === undefined)) return;
    code.line = isLine && chunk.content !== null ? Number(chunk.content) : undefined;
    if (chunk.failure !== undefined) code.failedAt = chunk.failure.line;
    this.listener.changed(code);
  }

  private rewrite(chunk: LmcChunk): void {
    if (chunk.content === "magic") this.beside.add(chunk.id ?? "");
    else if (chunk.content === "undo") this.undo(this.turns.pop());
    else if (chunk.content === "reset") this.turns.splice(0).forEach((turn) => this.undo(turn));
  }

  private tell(chunk: LmcChunk): void {
    const item = { ...this.itemOf(chunk), type: chunk.format ?? "", recipient: "user" as const, done: true };
    if (chunk.format === "allowed") this.allow(chunk.content as Denied);
    else if (chunk.format === "changes") {
      const said = this.items.at(-1);
      const isWords = said?.parent === chunk.parent && said?.type === "message" && said.recipient === "user";
      if (said !== undefined && isWords) this.drop(said);
      this.add({ ...item, change: chunk.content as Change });
    } else if (chunk.format === "denied") this.add({ ...item, denied: chunk.content as Denied });
    else if (chunk.format === "unasked") this.add({ ...item, text: (chunk.content as { words: string }).words });
  }

  /** Take back a turn. */
  private undo(turn: number | undefined): void {
    this.betweenTurns = true;
    if (turn === undefined) return;
    for (const item of this.items.filter((each) => each.turn === turn).reverse()) this.drop(item);
  }

  private isBeside(chunk: LmcChunk): boolean {
    return chunk.parent !== undefined && this.beside.has(chunk.parent);
  }

  private itemOf(from: LmcChunk): Item {
    const { role, type, format, recipient } = from;
    const isBeside = this.isBeside(from);
    if (!isBeside && this.betweenTurns && from.start === true) {
      this.betweenTurns = false;
      this.turns.push((this.turns.at(-1) ?? 0) + 1);
    }
    // Conversations from elsewhere do not say which code their output is of: it is that before it.
    const isResult = role === "computer" && RESULTS.has(type);
    const parent = from.parent ?? (isResult ? this.items.findLast((item) => item.type === "code")?.id : undefined);
    return {
      id: from.id ?? `unnamed-${++unnamed}`,
      ...{ role, type, format, recipient, parent },
      replayed: this.isReplay,
      turn: isBeside ? undefined : this.turns.at(-1),
      text: "",
      done: false,
    };
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

function textOf(content: unknown): string {
  return typeof content === "string"
    ? content
    : content === undefined || content === null
      ? ""
      : JSON.stringify(content);
}
