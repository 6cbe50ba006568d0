// What a program printed, while it prints: text that grows, in which a carriage return goes back to the line's begin.
import { h, visible } from "./dom.js";
import { Pages } from "./pages.js";

/** A text as a terminal of endless width would show it: what stands after a carriage return covers what was before. */
export class Lines {
  /** Whole lines that are not drawn yet, each with its end. */
  ready = "";
  /** The line that is being written. */
  current = "";
  private column = 0;

  write(text: string): void {
    for (const [part] of text.matchAll(/\r|\n|[^\r\n]+/g)) {
      if (part === "\r") this.column = 0;
      else if (part === "\n") {
        this.ready += `${this.current}\n`;
        this.current = "";
        this.column = 0;
      } else {
        this.current = this.current.slice(0, this.column) + part + this.current.slice(this.column + part.length);
        this.column += part.length;
      }
    }
  }
}

/** Lines on a page. */
const PAGE = 100;

export class Output {
  readonly element: HTMLElement;
  private readonly pages = new Pages(h("div"), PAGE);
  private readonly live = h("span");
  private lines = new Lines();
  private text = "";

  constructor() {
    const label = { class: "output", tabIndex: 0, "aria-label": "Output" };
    this.element = h("pre", label, h("div", {}, this.pages.element, this.live));
  }

  /** Show the text, which goes on where the one before ended, or is another. */
  show(text: string): void {
    if (!text.startsWith(this.text)) {
      this.lines = new Lines();
      this.text = "";
      this.pages.clear();
    }
    this.lines.write(text.slice(this.text.length));
    this.text = text;
    for (let rest = this.lines.ready; rest !== "";) {
      const part = firstLines(rest, this.pages.room);
      this.pages.append(part.split("\n").length - 1, ...visible(part));
      rest = rest.slice(part.length);
    }
    this.lines.ready = "";
    this.element.classList.toggle("some", text.trim() !== "");
    this.live.replaceChildren(...visible(this.lines.current));
  }
}

function firstLines(text: string, count: number): string {
  let end = 0;
  for (let left = count; left > 0 && end < text.length; left--) end = text.indexOf("\n", end) + 1;
  return text.slice(0, end);
}
