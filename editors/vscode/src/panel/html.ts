// HTML that a program shows. What is text and tables, as a data frame is, becomes elements of the panel's own, copied one
// by one; all else is shown in a frame of its own: no script runs there, nothing is fetched, and it cannot reach this page.
import type { Row } from "./app.js";
import type { Item } from "./conversation.js";
import { h, visible } from "./dom.js";

/** Elements that are copied; of their attributes, only how many cells one takes the place of. */
const COPIED = new Set(
  (
    "table caption thead tbody tfoot tr th td div p span br hr b strong i em u s small sub sup code pre " +
    "ul ol li dl dt dd h1 h2 h3 h4 h5 h6"
  ).split(" "),
);
/** A style that may be left away: pandas has it on the heads of its tables. */
const ALIGNED = /^\s*(text-align:\s*\w+;?\s*)?$/;
/** Characters of HTML that are copied: what is longer is left to a frame, which is not laid out with the panel. */
const LONGEST = 200_000;

interface TrustedTypes {
  createPolicy(name: string, rules: { createHTML: (html: string) => string }): { createHTML(html: string): string };
}

/** HTML is only ever taken as HTML for a document that runs nothing: the one of a frame without scripts, or one that is
 * read and never shown. */
const trustedTypes = (window as { trustedTypes?: TrustedTypes }).trustedTypes;
const inert = trustedTypes?.createPolicy("oi-inert-document", { createHTML: (html) => html });

export function htmlRow(item: Item): Row {
  const element = h("div");
  const update = () => {
    if (item.done && element.firstChild === null) element.append(copied(item.text) ?? frameOf(item.text));
  };
  return { element, update };
}

/** What the HTML says, in elements of our own; undefined where it is more than text and tables. */
function copied(html: string): HTMLElement | undefined {
  if (html.length > LONGEST) return undefined;
  // Nothing is fetched or run for such a document.
  const { head, body } = new DOMParser().parseFromString(inert?.createHTML(html) ?? html, "text/html");
  const isPlain = head.firstElementChild === null && [...body.querySelectorAll("*")].every(canBeCopied);
  if (!isPlain) return undefined;
  return h(
    "div",
    { class: "html", role: "region", "aria-label": "HTML that the code made", tabIndex: 0 },
    ...copy(body),
  );
}

function canBeCopied(element: Element): boolean {
  if (element.localName === "style") return element.hasAttribute("scoped");
  return COPIED.has(element.localName) && ALIGNED.test(element.getAttribute("style") ?? "");
}

function copy(parent: Element): (Node | string)[] {
  return [...parent.childNodes].flatMap((node) => {
    if (node instanceof Text) return visible(node.data);
    if (!(node instanceof HTMLElement) || node.localName === "style") return [];
    const made = document.createElement(node.localName);
    if (node instanceof HTMLTableCellElement && made instanceof HTMLTableCellElement) {
      made.colSpan = node.colSpan;
      made.rowSpan = node.rowSpan;
    }
    if (node.localName === "table" && node.classList.contains("dataframe")) made.className = "dataframe";
    made.append(...copy(node));
    return [made];
  });
}

function frameOf(html: string): HTMLElement {
  const frame = h("iframe", { title: "HTML that the code made", class: "html" });
  frame.setAttribute("sandbox", "");
  const page = pageOf(html);
  frame.srcdoc = inert?.createHTML(page) ?? page;
  return frame;
}

/** The page has a policy of its own beside that of this one, which it cannot loosen. */
function pageOf(html: string): string {
  const policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'";
  const style = getComputedStyle(document.body);
  const colours = `color:${style.color};font:${style.fontSize} ${style.fontFamily};margin:4px`;
  const head = `<meta http-equiv="Content-Security-Policy" content="${policy}"><style>body{${colours.replace(/[<>]/g, "")}}</style>`;
  return `<!DOCTYPE html><html><head>${head}</head><body>${html}</body></html>`;
}
