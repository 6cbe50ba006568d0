// Children in pages: the browser lays out and paints the pages near what is seen, and skips the rest (`.page.full` in
// style.css). All of them are in the document, so they are found, selected and read aloud as if there were no pages.
import { h } from "./dom.js";

export class Pages {
  private last: HTMLElement | undefined;
  private count = 0;

  /** Pages in `element`, each for so many children or lines. */
  constructor(
    readonly element: HTMLElement,
    private readonly size: number,
  ) {}

  /** How many more fit onto the page that is written next. */
  get room(): number {
    return this.last === undefined || this.count >= this.size ? this.size : this.size - this.count;
  }

  /** Put nodes at the end, which count as `count` of what a page holds: as many as there is room for, at most. */
  append(count: number, ...nodes: (Node | string)[]): void {
    if (this.last === undefined || this.count >= this.size) {
      this.last?.classList.add("full");
      this.last = h("div", { class: "page" });
      this.element.append(this.last);
      this.count = 0;
    }
    this.last.append(...nodes);
    this.count += count;
  }

  /** Take one of the nodes away. */
  remove(node: Element): void {
    const page = node.parentElement;
    node.remove();
    if (page === null || page.childElementCount > 0) return;
    page.remove();
    if (page === this.last) this.last = undefined;
  }

  clear(): void {
    this.element.replaceChildren();
    this.last = undefined;
  }
}
