// What a program printed, while it prints: text that grows, in which a carriage return goes back to the line's begin.
import { h, visible } from "./dom.js";

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

export class Output {
  readonly element = h("pre", { class: "output", tabIndex: 0, "aria-label": "Output" });
  private readonly live = h("span");
  private lines = new Lines();
  private text = "";

  constructor() {
    this.element.append(this.live);
  }

  /** Show the text, which goes on where the one before ended, or is another. */
  show(text: string): void {
    if (!text.startsWith(this.text)) {
      this.lines = new Lines();
      this.text = "";
      this.element.replaceChildren(this.live);
    }
    const pinned = this.element.scrollHeight - this.element.scrollTop - this.element.clientHeight < 8;
    this.lines.write(text.slice(this.text.length));
    this.text = text;
    this.live.before(...visible(this.lines.ready));
    this.lines.ready = "";
    this.element.classList.toggle("some", text.trim() !== "");
    this.live.replaceChildren(...visible(this.lines.current));
    if (pinned) this.element.scrollTop = this.element.scrollHeight;
  }
}
