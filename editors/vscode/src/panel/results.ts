// What came of a block of code: output, pictures, HTML, notes, changes on disk, and the program's question.
import type { Input } from "../protocol.js";
import { act, type App, type Row } from "./app.js";
import { command } from "./bridge.js";
import { ChangesView } from "./changes.js";
import type { Item } from "./conversation.js";
import { deniedRow } from "./denied.js";
import { button, h, visible } from "./dom.js";
import { codeElement } from "./highlight.js";
import { htmlRow } from "./html.js";
import { Markdown } from "./markdown.js";
import { Output } from "./output.js";

export class Results {
  readonly element = h("div", { class: "results" });
  /** The code as the person edited it. */
  edited: Item | undefined;
  private readonly rows = new Map<string, Row>();
  private readonly dirty = new Set<Row>();
  private readonly question = h("div", { class: "question" });
  private asked = "";

  constructor(private readonly app: App) {
    this.element.append(this.question);
  }

  take(item: Item): void {
    if (item.type === "code" && item.role === "user") {
      this.edited = item;
      return;
    }
    let row = this.rows.get(item.id);
    if (row === undefined) {
      row = resultOf(this.app, item);
      this.rows.set(item.id, row);
      this.question.before(row.element);
    }
    this.dirty.add(row);
  }

  /** Draw what is new. */
  update(): void {
    this.dirty.forEach((row) => row.update());
    this.dirty.clear();
  }

  drop(item: Item): void {
    if (this.edited === item) this.edited = undefined;
    this.rows.get(item.id)?.element.remove();
    this.rows.delete(item.id);
  }

  /** Show the program's question, where it has one, below what it printed. */
  ask(input: Input | undefined): void {
    if (this.asked === (input?.id ?? "")) return;
    this.asked = input?.id ?? "";
    this.question.replaceChildren();
    if (input === undefined) return;
    const label = input.prompt.trim() || "The program waits for a line";
    const field = h("input", { type: input.password ? "password" : "text", "aria-label": label, autocomplete: "off" });
    const answer = (event: Event) => {
      event.preventDefault();
      const { sessionId } = this.app;
      act(this.app, () => command("oi.input.answer", { sessionId, inputId: input.id, text: field.value }));
    };
    this.question.append(h("form", { onsubmit: answer }, field, h("button", { type: "submit" }, "Answer")));
    this.app.announce(`The program asks: ${label}`);
    field.focus();
  }
}

function resultOf(app: App, item: Item): Row {
  if (item.type === "console") return outputRow(item);
  if (item.type === "image") return pictureRow(item);
  if (item.type === "changes") return new ChangesView(app, item);
  if (item.type === "denied") return deniedRow(app, item);
  if (item.type === "code") return item.format === "html" ? htmlRow(item) : codeRow(item);
  return noteRow(item);
}

function outputRow(item: Item): Row {
  const output = new Output();
  return { element: output.element, update: () => output.show(item.text) };
}

/** A picture whose bytes came along; one that would have to be fetched is only named. */
export function pictureRow(item: Item): Row {
  const kind = /^base64\.(png|jpe?g)$/.exec(item.format ?? "")?.[1];
  const element = h("figure");
  const update = () => {
    if (!item.done) return;
    const source = `data:image/${kind === "png" ? "png" : "jpeg"};base64,${item.text}`;
    const picture = h("img", {
      src: source,
      alt: item.role === "user" ? "an attached picture" : "a picture that the code made",
    });
    element.replaceChildren(kind === undefined ? h("code", {}, ...visible(item.text)) : picture);
  };
  return { element, update };
}

function codeRow(item: Item): Row {
  const element = h("div");
  return { element, update: () => element.replaceChildren(codeElement(item.text, item.format ?? "")) };
}

/** Words of the computer's, or of the scanner's. */
export function noteRow(item: Item): Row {
  const markdown = new Markdown();
  const element = h("div", { class: `note ${item.type}`, role: "note" }, markdown.element);
  return { element, update: () => markdown.show(item.text) };
}

/** Thoughts of the model's, folded away. */
export function reasoningRow(item: Item): Row {
  const markdown = new Markdown();
  const element = h("details", { class: "reasoning" }, h("summary", {}, "Thoughts"), markdown.element);
  return { element, update: () => markdown.show(item.text) };
}

/** A button that is only a symbol to those who see it. */
export function symbol(sign: string, label: string, onclick: () => void): HTMLButtonElement {
  return button(sign, onclick, { class: "quiet", "aria-label": label, title: label });
}
