// Markdown as elements. There is no HTML on the way: the tokens of markdown-it become nodes, so that whatever a model
// writes is text, a link that VS Code asks about, or one of the elements below.
import MarkdownIt from "markdown-it";
import { deed } from "./bridge.js";
import { Code } from "./code.js";
import { button, h, visible } from "./dom.js";

const parser = new MarkdownIt({ html: false, linkify: false, breaks: false });
type Token = ReturnType<typeof parser.parse>[number];

const TAGS = new Set(
  ["p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "strong", "em", "s"].concat([
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
  ]),
);
const LINK = /^(https?|mailto):/i;

/** A Markdown text that grows: only its last block is read anew when more comes. */
export class Markdown {
  readonly element = h("div", { class: "markdown" });
  /** Up to here the text is drawn for good, by so many of the element's children. */
  private settled = 0;
  private children = 0;
  private text = "";
  /** The code that was drawn last, which may still grow. */
  private fence: Fence | undefined;

  /** Show the text, which goes on where the one before ended, or is another. `whole`: it does not grow any more. */
  show(text: string, whole = true): void {
    if (!text.startsWith(this.text.slice(0, this.settled))) this.settled = this.children = 0;
    this.text = text;
    const rest = text.slice(this.settled);
    const blocks = blocksOf(parser.parse(rest, {}));
    blocks.forEach((block, index) => this.put(this.children + index, block, whole || index < blocks.length - 1));
    while (this.element.childNodes.length > this.children + blocks.length) this.element.lastChild?.remove();
    const last = blocks.at(-1)?.[0]?.map?.[0];
    if (last === undefined || last === 0) return;
    // What comes next can only go on with the last block.
    this.settled += offsetOfLine(rest, last);
    this.children = this.element.childNodes.length - 1;
  }

  /** Draw a block as the child of that number, in the place of what was there. */
  private put(child: number, block: Token[], whole: boolean): void {
    const old = this.element.childNodes[child];
    const [first] = block;
    const now = first !== undefined && isCode(first) ? this.putCode(old, first, whole) : draw(block);
    if (old === undefined) this.element.append(now);
    else if (old !== now) old.replaceWith(now);
  }

  private putCode(old: Node | undefined, token: Token, whole: boolean): Node {
    const language = languageOf(token);
    const goesOn = this.fence?.element === old && this.fence?.language === language;
    if (!goesOn || this.fence === undefined) this.fence = new Fence(language);
    this.fence.show(codeOf(token), whole);
    return this.fence.element;
  }
}

/** The tokens of each block at the top. */
function blocksOf(tokens: Token[]): Token[][] {
  const blocks: Token[][] = [];
  let depth = 0;
  for (const token of tokens) {
    if (depth === 0) blocks.push([]);
    blocks.at(-1)?.push(token);
    depth += token.nesting;
  }
  return blocks;
}

function offsetOfLine(text: string, line: number): number {
  let at = 0;
  for (let left = line; left > 0; left--) at = text.indexOf("\n", at) + 1;
  return at;
}

function draw(tokens: Token[]): DocumentFragment {
  const root = document.createDocumentFragment();
  const open: ParentNode[] = [root];
  const top = () => open.at(-1) ?? root;
  for (const token of tokens) {
    if (token.nesting === 1) {
      // In a tight list, the paragraphs are only there for the parser.
      const element = token.hidden ? top() : opened(token);
      if (element !== top()) top().append(element);
      open.push(element);
    } else if (token.nesting === -1) open.pop();
    else if (token.type === "inline") top().append(draw(token.children ?? []));
    else top().append(...leaf(token));
  }
  return root;
}

function opened(token: Token): HTMLElement {
  if (token.tag === "a") return link(String(token.attrGet("href") ?? ""));
  const element = document.createElement(TAGS.has(token.tag) ? token.tag : "span");
  const start = token.attrGet("start");
  if (element instanceof HTMLOListElement && start !== null) element.start = Number(start);
  const align = /text-align:(left|right|center)/.exec(String(token.attrGet("style") ?? ""))?.[1];
  if (align !== undefined) element.style.textAlign = align;
  return element;
}

/** A link; where it leads is seen before it is followed, and VS Code asks. */
function link(url: string): HTMLElement {
  if (!LINK.test(url)) return h("span", { class: "dead-link", title: `Not opened: ${url}` });
  const onclick = (event: MouseEvent) => {
    event.preventDefault();
    deed({ what: "openLink", url });
  };
  return h("a", { href: url, title: url, onclick });
}

function leaf(token: Token): (Node | string)[] {
  switch (token.type) {
    case "text":
      return visible(token.content);
    case "softbreak":
      return ["\n"];
    case "hardbreak":
      return [h("br")];
    case "hr":
      return [h("hr")];
    case "code_inline":
      return [h("code", {}, ...visible(token.content))];
    case "fence":
    case "code_block":
      return [fence(token)];
    case "image":
      // Nothing is fetched: whoever serves a picture learns that it was looked at.
      return [h("span", { class: "dead-link", title: String(token.attrGet("src")) }, `[picture: ${token.content}]`)];
    default:
      return visible(token.content);
  }
}

function isCode({ type }: Token): boolean {
  return type === "fence" || type === "code_block";
}

function languageOf({ info }: Token): string {
  return info.trim().split(/\s/)[0] ?? "";
}

function codeOf({ content }: Token): string {
  return content.replace(/\n$/, "");
}

function fence(token: Token): HTMLElement {
  const made = new Fence(languageOf(token));
  made.show(codeOf(token), true);
  return made.element;
}

class Fence {
  readonly element: HTMLElement;
  private readonly code: Code;
  private text = "";

  constructor(readonly language: string) {
    this.code = new Code(language);
    const copy = button("Copy", () => deed({ what: "copy", text: this.text }), { class: "quiet copy" });
    this.element = h("div", { class: "fence" }, this.code.element, copy);
  }

  show(text: string, whole: boolean): void {
    this.text = text;
    this.code.show(text, whole);
  }
}
