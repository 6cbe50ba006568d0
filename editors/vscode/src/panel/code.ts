// Code that is shown without an editor, a line at a time.
import { h, visible } from "./dom.js";
import { Highlighter, type Piece } from "./highlight.js";
import { Pages } from "./pages.js";

/** Lines on a page. */
const PAGE = 50;
/** So many lines at the end are looked at again while code grows: what comes may give them other colours. */
const TAIL = 20;

interface Line {
  readonly element: HTMLElement;
  /** Where it begins in the code. */
  readonly start: number;
  drawn: string;
}

/** Code that may still grow: of what is drawn, only the lines that are to look another way are drawn anew. */
export class Code {
  readonly element: HTMLElement;
  private readonly pages = new Pages(h("code"), PAGE);
  private readonly colours: Highlighter;
  private lines: Line[] = [];
  private marked: Line[] = [];
  private text = "";
  private whole = false;

  constructor(language: string) {
    this.colours = new Highlighter(language);
    this.element = h("pre", { class: "code", tabIndex: 0, "aria-label": `${language} code` }, this.pages.element);
  }

  /** Show code. `whole`: it does not grow any more, so that all of it is looked at. */
  show(code: string, whole: boolean): void {
    if (code === this.text && whole === this.whole && this.lines.length > 0) return;
    if (!code.startsWith(this.text)) {
      this.pages.clear();
      this.lines = [];
    }
    const first = whole ? 0 : Math.max(0, this.lines.length - TAIL);
    let start = this.lines[first]?.start ?? 0;
    this.colours.lines(code, start).forEach((pieces, index) => {
      this.draw(first + index, start, pieces);
      for (const { text } of pieces) start += text.length;
    });
    this.text = code;
    this.whole = whole;
  }

  /** Mark the line that runs and the one that failed, from 1. */
  mark(active: number | undefined, failed: number | undefined): void {
    for (const { element } of this.marked) element.classList.remove("active", "failed");
    this.marked = [];
    for (const [number, name] of [[active, "active"] as const, [failed, "failed"] as const]) {
      const line = number === undefined ? undefined : this.lines[number - 1];
      if (line === undefined) continue;
      line.element.classList.add(name);
      this.marked.push(line);
    }
  }

  private draw(index: number, start: number, pieces: Piece[]): void {
    const known = this.lines[index];
    const line = known ?? { element: h("span", { class: "line" }), start, drawn: "" };
    if (known === undefined) {
      this.lines.push(line);
      this.pages.append(1, line.element);
    }
    const drawn = pieces.map(({ style, text }) => `${style}\0${text}`).join("\0");
    if (line.drawn === drawn) return;
    line.drawn = drawn;
    line.element.replaceChildren(
      ...pieces.flatMap(({ style, text }) =>
        style === "" ? visible(text) : [h("span", { class: style }, ...visible(text))],
      ),
    );
  }
}
