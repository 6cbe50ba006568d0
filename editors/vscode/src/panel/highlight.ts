// Code in the editor's colours, without an editor: parsed by Lezer, drawn as spans, a line at a time.
import { java } from "@codemirror/lang-java";
import { javascript } from "@codemirror/lang-javascript";
import { python } from "@codemirror/lang-python";
import { LanguageSupport, StreamLanguage } from "@codemirror/language";
import { r } from "@codemirror/legacy-modes/mode/r";
import { ruby } from "@codemirror/legacy-modes/mode/ruby";
import { shell } from "@codemirror/legacy-modes/mode/shell";
import { classHighlighter, highlightTree } from "@lezer/highlight";
import { h, visible } from "./dom.js";

const SUPPORT: Record<string, () => LanguageSupport> = {
  python: () => python(),
  javascript: () => javascript(),
  typescript: () => javascript({ typescript: true }),
  react: () => javascript({ jsx: true }),
  java: () => java(),
  shell: () => new LanguageSupport(StreamLanguage.define(shell)),
  r: () => new LanguageSupport(StreamLanguage.define(r)),
  ruby: () => new LanguageSupport(StreamLanguage.define(ruby)),
};
const NAMES: Record<string, string> = {
  py: "python",
  python3: "python",
  js: "javascript",
  node: "javascript",
  json: "javascript",
  ts: "typescript",
  jsx: "react",
  bash: "shell",
  sh: "shell",
  zsh: "shell",
  rb: "ruby",
};
/** Longer code is shown without colours. */
const LONGEST = 50_000;

const made = new Map<string, LanguageSupport>();

/** What CodeMirror knows of a language, by any of its names; undefined for one that it does not know. */
export function support(language: string): LanguageSupport | undefined {
  const lower = language.toLowerCase();
  const name = NAMES[lower] ?? lower;
  const make = Object.hasOwn(SUPPORT, name) ? SUPPORT[name] : undefined;
  const found = made.get(name) ?? make?.();
  if (found !== undefined) made.set(name, found);
  return found;
}

/** The lines of code, each an element. */
export function codeLines(code: string, language: string): HTMLElement[] {
  const lines: HTMLElement[] = [h("span", { class: "line" })];
  const put = (text: string, style: string) => {
    text.split("\n").forEach((part, index) => {
      if (index > 0) lines.push(h("span", { class: "line" }));
      if (part === "") return;
      const nodes = visible(part);
      if (style === "") lines.at(-1)?.append(...nodes);
      else lines.at(-1)?.append(h("span", { class: style }, ...nodes));
    });
  };
  const parser = code.length <= LONGEST ? support(language)?.language.parser : undefined;
  let done = 0;
  if (parser !== undefined) {
    highlightTree(parser.parse(code), classHighlighter, (from, to, style) => {
      put(code.slice(done, from), "");
      put(code.slice(from, to), style);
      done = to;
    });
  }
  put(code.slice(done), "");
  return lines;
}

/** Code that is only shown. */
export function codeElement(code: string, language: string): HTMLElement {
  const lines = codeLines(code, language);
  lines.slice(0, -1).forEach((line) => line.append("\n"));
  return h("pre", { class: "code", tabIndex: 0, "aria-label": `${language} code` }, h("code", {}, ...lines));
}
