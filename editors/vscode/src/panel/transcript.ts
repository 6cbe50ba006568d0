// The conversation on the screen: a row for each message, drawn when it comes near what is seen.
import { act, type App, type Row } from "./app.js";
import { Block } from "./block.js";
import { command, post } from "./bridge.js";
import type { Item } from "./conversation.js";
import { button, h, shown, visible } from "./dom.js";
import { Markdown } from "./markdown.js";
import { noteRow, pictureRow, reasoningRow } from "./results.js";

/** So near to the bottom, in pixels, new text is followed. */
const NEAR = 40;
/** Milliseconds after a key, a wheel or a pointer in which a scroll is the person's. */
const BY_HAND = 500;
/** Milliseconds of a frame that drawing may take; what is left is drawn in the next one. */
const SLICE = 12;

export class Transcript {
  readonly element = h("div", {
    id: "conversation",
    role: "log",
    "aria-live": "off",
    "aria-label": "Conversation",
    tabIndex: 0,
  });
  private readonly list = h("div", { class: "list" });
  private readonly goOn = button("Continue", () => this.continue(), {
    class: "go-on",
    title: "Ask the model to go on from here",
  });
  private readonly rows = new Map<string, Row>();
  private readonly near = new Set<Row>();
  private readonly dirty = new Set<Row>();
  private readonly ofElement = new WeakMap<Element, Row>();
  private readonly watch: IntersectionObserver;
  private scheduled = false;
  private pinned = true;
  private lastTop = 0;
  private touched = -Infinity;

  constructor(private readonly app: App) {
    this.watch = new IntersectionObserver((seen) => this.see(seen), { root: this.element, rootMargin: "800px 0px" });
    this.element.addEventListener("scroll", () => {
      const { scrollHeight, scrollTop, clientHeight } = this.element;
      // What has grown or shrunk is no reason to stay behind: somebody who wants to stay scrolls up.
      const isUp = scrollTop < this.lastTop && performance.now() - this.touched < BY_HAND;
      this.lastTop = scrollTop;
      this.pinned = scrollHeight - scrollTop - clientHeight < NEAR || (this.pinned && !isUp);
    });
    for (const gesture of ["wheel", "touchmove", "pointerdown", "keydown"]) {
      this.element.addEventListener(gesture, () => (this.touched = performance.now()), { passive: true });
    }
    this.element.append(this.list, this.goOn);
    // Pictures have no size before they are there.
    const resized = new ResizeObserver(() => this.follow());
    resized.observe(this.element);
    resized.observe(this.list);
  }

  /** Show nothing yet of another conversation. */
  begin(): void {
    this.watch.disconnect();
    this.rows.clear();
    this.near.clear();
    this.dirty.clear();
    this.list.replaceChildren();
    this.pinned = true;
    if (this.app.conversation.isEmpty) this.list.append(welcome());
  }

  add(item: Item): void {
    // Words for the model alone.
    if (item.recipient === "assistant") return;
    const block = this.blockOf(item);
    if (block !== undefined) {
      block.take(item);
      this.touch(block);
      return;
    }
    this.element.querySelector(".welcome")?.remove();
    const row = rowOf(this.app, item);
    this.rows.set(item.id, row);
    this.ofElement.set(row.element, row);
    this.list.append(row.element);
    this.watch.observe(row.element);
    if (item.type === "error") this.refresh();
  }

  change(item: Item): void {
    if (item.recipient === "assistant") return;
    const block = this.blockOf(item);
    block?.take(item);
    const row = block ?? this.rows.get(item.id);
    if (row !== undefined) this.touch(row);
  }

  drop(item: Item): void {
    this.blockOf(item)?.drop(item);
    const row = this.rows.get(item.id);
    if (row === undefined) return;
    this.rows.delete(item.id);
    this.near.delete(row);
    this.dirty.delete(row);
    this.watch.unobserve(row.element);
    row.element.remove();
  }

  /** The state has changed, which the last blocks show, and whether there is a turn to go on with that failed. */
  refresh(): void {
    const failed = this.app.conversation.items.findLast(({ turn }) => turn !== undefined)?.type === "error";
    shown(this.goOn, failed && this.app.state?.state === "idle");
    const blocks = [...this.rows.values()].filter((row) => row instanceof Block).slice(-3);
    blocks.forEach((row) => this.touch(row));
  }

  /** Put the cursor into the code that waits for a decision. Answers whether there is any. */
  focusProposal(): boolean {
    const proposal = this.app.state?.proposal;
    const item = proposal && this.app.conversation.proposed(proposal.id);
    const row = item && this.rows.get(item.id);
    if (!(row instanceof Block)) return false;
    row.update();
    row.element.scrollIntoView({ block: "nearest" });
    row.focus();
    return true;
  }

  private continue(): void {
    const { sessionId } = this.app;
    act(this.app, () => command("oi.chat.send", { sessionId, content: "Continue." }));
  }

  private blockOf(item: Item): Block | undefined {
    const row = item.parent === undefined ? undefined : this.rows.get(item.parent);
    return row instanceof Block ? row : undefined;
  }

  private see(seen: IntersectionObserverEntry[]): void {
    for (const { target, isIntersecting } of seen) {
      const row = this.ofElement.get(target);
      if (row === undefined) continue;
      if (!isIntersecting) this.near.delete(row);
      else {
        this.near.add(row);
        this.touch(row);
      }
    }
  }

  private touch(row: Row): void {
    this.dirty.add(row);
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => this.draw());
  }

  private draw(): void {
    this.scheduled = false;
    const until = performance.now() + SLICE;
    // The last ones first: they are what one looks at.
    for (const row of [...this.dirty].reverse()) {
      this.dirty.delete(row);
      const goesOn = row instanceof Block && row.goesOn;
      if (!this.near.has(row) && !goesOn) continue;
      row.update();
      if (performance.now() > until) break;
    }
    this.follow();
    if (this.dirty.size > 0) {
      this.scheduled = true;
      requestAnimationFrame(() => this.draw());
    }
  }

  private follow(): void {
    if (this.pinned) this.element.scrollTop = this.element.scrollHeight;
  }
}

function rowOf(app: App, item: Item): Row {
  if (item.type === "code") return new Block(app, item);
  if (item.type === "image") return named(item, pictureRow(item));
  if (item.type === "reasoning") return reasoningRow(item);
  if (item.type === "error") return errorRow(item);
  if (item.role === "user") return userRow(app, item);
  if (item.role === "computer") return noteRow(item);
  return assistantRow(item);
}

function named(item: Item, row: Row): Row {
  row.element.dataset["role"] = item.role;
  return row;
}

function userRow(app: App, item: Item): Row {
  const text = h("div", { class: "text" });
  const isFile = item.type === "file";
  const tools = h(
    "div",
    { class: "tools" },
    button("Edit", () => app.rewrite(item), { class: "quiet", title: "Edit this message and go on from here" }),
    button("Branch", () => post({ type: "branch", messageId: item.id }), {
      class: "quiet",
      title: "A new chat that goes on from this message; this one stays as it is",
    }),
    button("Undo", () => post({ type: "undo", messageId: item.id }), {
      class: "quiet",
      title: "Take back this message and what came after it, with the files that were changed or without",
    }),
  );
  const canEdit = !isFile && item.recipient === undefined;
  const element = h(
    "article",
    { class: "message user", "aria-label": "You", "data-id": item.id },
    text,
    canEdit && tools,
  );
  const update = () => text.replaceChildren(...visible(isFile ? `📎 ${item.text}` : item.text));
  return { element, update };
}

function assistantRow(item: Item): Row {
  const markdown = new Markdown();
  const element = h(
    "article",
    { class: "message assistant", "aria-label": "Assistant", "data-id": item.id },
    markdown.element,
  );
  return { element, update: () => markdown.show(item.text) };
}

function errorRow(item: Item): Row {
  const element = h("div", { class: "message error", role: item.replayed ? "note" : "alert" });
  return { element, update: () => element.replaceChildren(...visible(item.text)) };
}

function welcome(): HTMLElement {
  return h(
    "div",
    { class: "welcome" },
    h("h2", {}, "Ask for something that code can do"),
    h("p", {}, "The model writes code. You look at it, edit it if you like, and run it here. Nothing runs unasked."),
    h("p", {}, "No key yet? ", h("em", {}, "Take the Tour"), " below shows how it works; it needs none."),
  );
}
