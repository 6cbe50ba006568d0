// The colours of code that is shown without an editor: it is parsed by Lezer.
import { java } from "@codemirror/lang-java";
import { javascript } from "@codemirror/lang-javascript";
import { python } from "@codemirror/lang-python";
import { LanguageSupport, StreamLanguage } from "@codemirror/language";
import { r } from "@codemirror/legacy-modes/mode/r";
import { ruby } from "@codemirror/legacy-modes/mode/ruby";
import { shell } from "@codemirror/legacy-modes/mode/shell";
import { TreeFragment, type Parser, type Tree } from "@lezer/common";
import { classHighlighter, highlightTree } from "@lezer/highlight";

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
/** What follows after this many characters has no colours. */
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

/** Text of one style: the classes that it has. */
export interface Piece {
  text: string;
  style: string;
}

/** Tells the colours of code that may still grow, of which only what is new is parsed. */
export class Highlighter {
  private readonly parser: Parser | undefined;
  private fragments: readonly TreeFragment[] = [];
  private parsed = "";

  constructor(language: string) {
    this.parser = support(language)?.language.parser;
  }

  /** The pieces of each line, with its end, from an offset on at which a line begins. */
  lines(code: string, from: number): Piece[][] {
    const lines: Piece[][] = [[]];
    let done = from;
    const put = (to: number, style: string) => {
      for (const [text] of code.slice(done, to).matchAll(/[^\n]*\n|[^\n]+/g)) {
        lines.at(-1)?.push({ text, style });
        if (text.endsWith("\n")) lines.push([]);
      }
      done = Math.max(done, to);
    };
    if (this.parser !== undefined && from < LONGEST) {
      const tree = this.parse(this.parser, code.slice(0, LONGEST));
      highlightTree(
        tree,
        classHighlighter,
        (start, end, style) => {
          put(start, "");
          put(end, style);
        },
        from,
      );
    }
    put(code.length, "");
    return lines;
  }

  private parse(parser: Parser, code: string): Tree {
    const { length } = this.parsed;
    const grown = code.startsWith(this.parsed);
    const change = { fromA: length, toA: length, fromB: length, toB: code.length };
    this.fragments = grown ? TreeFragment.applyChanges(this.fragments, [change]) : [];
    const tree = parser.parse(code, this.fragments);
    this.fragments = TreeFragment.addTree(tree);
    this.parsed = code;
    return tree;
  }
}
