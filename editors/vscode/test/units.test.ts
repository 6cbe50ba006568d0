// Parts of the panel by themselves, in the browser that it runs in.
import assert from "node:assert/strict";
import * as path from "node:path";
import { after, test } from "node:test";
import * as esbuild from "esbuild";
import { chromium } from "playwright-core";
import type { Code as CodeType } from "../src/panel/code.ts";
import type { Conversation as ConversationType } from "../src/panel/conversation.ts";
import type { Markdown as MarkdownType } from "../src/panel/markdown.ts";
import type { Lines as LinesType, Output as OutputType } from "../src/panel/output.ts";
import { CHROMIUM, FLAGS } from "./panel.ts";
import { HERE } from "./workbench.ts";

const bundle = await esbuild.build({
  stdin: {
    contents: `export { Markdown } from "./markdown.js"; export { Lines, Output } from "./output.js";
      export { Conversation } from "./conversation.js"; export { Code } from "./code.js";`,
    resolveDir: path.join(HERE, "src", "panel"),
  },
  bundle: true,
  write: false,
  format: "iife",
  globalName: "parts",
});
// As it is where a screen reader runs.
const args = [...FLAGS, "--force-renderer-accessibility"];
const browser = await chromium.launch({ executablePath: CHROMIUM ?? "", args });
after(() => browser.close());
const page = await browser.newPage();
await page.addStyleTag({ path: path.join(HERE, "src", "panel", "style.css") });
await page.evaluate("globalThis.acquireVsCodeApi = () => ({ postMessage() {}, getState() {}, setState() {} })");
await page.evaluate(`${bundle.outputFiles[0]?.text ?? ""}; globalThis.parts = parts;`);

interface Parts {
  Markdown: typeof MarkdownType;
  Lines: typeof LinesType;
  Output: typeof OutputType;
  Code: typeof CodeType;
  Conversation: typeof ConversationType;
}
declare const parts: Parts;

const TEXTS = [
  "# A title\n\nSome *words* and `code`,\nmore of them.\n\n- one\n- two\n\n  still two\n\n1. a\n2. b\n\n> said\n> so\n",
  "before\n\n```python\nprint(1)\n\nprint(2)\n```\n\nafter **it**\n\n| a | b |\n|---|:-:|\n| 1 | 2 |\n\nend",
  "a title\n=======\n\n    indented\n\n    code\n\n---\n\n<b>no HTML</b> [a](javascript:1) ![p](http://x/y.png)\n",
  "~~~\nopen fence\n\n- not a list\n",
];

test("Markdown that arrives in pieces is drawn as if it had come at once", async () => {
  for (const text of TEXTS) {
    const different = await page.evaluate((whole) => {
      const drawn = (pieces: string[]) => {
        const markdown = new parts.Markdown();
        pieces.forEach((piece, index) => markdown.show(piece, index === pieces.length - 1));
        return new XMLSerializer().serializeToString(markdown.element);
      };
      const wanted = drawn([whole]);
      const prefixes = Array.from(whole, (_, at) => whole.slice(0, at + 1));
      const found: string[] = [];
      if (drawn(prefixes) !== wanted) found.push("by letters");
      for (let at = 1; at < whole.length; at++) {
        if (drawn([whole.slice(0, at), whole]) !== wanted) found.push(`cut at ${at}`);
      }
      return found;
    }, text);
    assert.deepEqual(different, [], text);
  }
});

const PYTHON = `@wraps(f)
def a(x: int) -> str:
    """It says
    so."""
    return f"{x!r} and" + '''more
    of it'''  # why

class B(A): pass
`;

test("code that arrives in pieces looks as if it had come at once", async () => {
  for (const [language, code] of [
    ["python", PYTHON],
    ["shell", 'for a in *; do\n  echo "$a\n  b" # why\ndone'],
    ["unknown", "a\n\nb"],
  ] as const) {
    const same = await page.evaluate(
      ([language, whole]) => {
        const drawn = (pieces: string[]) => {
          const code = new parts.Code(language);
          pieces.forEach((piece, index) => code.show(piece, index === pieces.length - 1));
          return new XMLSerializer().serializeToString(code.element);
        };
        const prefixes = Array.from(whole, (_, at) => whole.slice(0, at + 1));
        return [drawn(prefixes) === drawn([whole]), drawn(["another", whole]) === drawn([whole])];
      },
      [language, code] as const,
    );
    assert.deepEqual(same, [true, true], code);
  }
});

/** Have something grow to so many lines, a few at a time. Answers whether its first word was drawn once, how many nodes came
 * and went at most at a time, and what of it is copied. */
async function grown([kind, lines]: ["code" | "markdown" | "output", string[]]): Promise<[boolean, number, string]> {
  const shown = { code: new parts.Code("python"), markdown: new parts.Markdown(), output: new parts.Output() }[kind];
  document.body.replaceChildren(shown.element);
  let most = 0;
  const watch = new MutationObserver((changes) => {
    const nodes = changes.map(({ addedNodes, removedNodes }) => addedNodes.length + removedNodes.length);
    most = Math.max(
      most,
      nodes.reduce((sum, count) => sum + count),
    );
  });
  watch.observe(document.body, { childList: true, subtree: true });
  let so = kind === "markdown" ? "```python\n" : "";
  let first: Node | null = null;
  for (let at = 0; at < lines.length; at += 5) {
    so += lines.slice(at, at + 5).join("");
    shown.show(so, at + 5 >= lines.length);
    first ??= document.createTreeWalker(shown.element, NodeFilter.SHOW_TEXT).nextNode();
    await Promise.resolve(); // What was drawn is told by then.
  }
  const pages = shown.element.querySelector(".page")?.parentElement;
  if (pages) getSelection()?.selectAllChildren(pages);
  return [first?.isConnected === true, most, getSelection()?.toString() ?? ""];
}

for (const kind of ["code", "markdown", "output"] as const) {
  test(`${kind} that grows is drawn once, by its new lines; all of it is copied and read aloud`, async () => {
    const lines = Array.from({ length: 300 }, (_, at) => `value_${at} = f(${at}, "text")\n`);
    const [isFirstThere, most, copied] = await page.evaluate(grown, [kind, lines] as ["code", string[]]);
    assert.ok(isFirstThere);
    assert.ok(most < 200, `${most} nodes came and went at a time`);
    assert.equal(copied.trimEnd(), lines.join("").trimEnd());
    const session = await page.context().newCDPSession(page);
    const { nodes } = await session.send("Accessibility.getFullAXTree");
    const read = nodes.filter(({ role }) => role?.value === "StaticText").map(({ name }) => String(name?.value));
    for (const line of [0, 150, 299]) assert.ok(read.join("").includes(`value_${line} = f`), `line ${line}`);
  });
}

test("a carriage return covers what was before, wherever the text is cut", async () => {
  const text = "10%\r20%\r100%\nabc\rX\r\nlast\rLA";
  const shown = await page.evaluate((whole) => {
    const seen = new Set<string>();
    for (let at = 0; at <= whole.length; at++) {
      const lines = new parts.Lines();
      lines.write(whole.slice(0, at));
      lines.write(whole.slice(at));
      seen.add(lines.ready + lines.current);
    }
    return [...seen];
  }, text);
  assert.deepEqual(shown, ["100%\nXbc\nLAst"]);
});

test("the stream is followed over gaps and replays", async () => {
  const told = await page.evaluate(() => {
    const events: string[] = [];
    const conversation = new parts.Conversation({
      added: (item) => events.push(`+${item.id}`),
      changed: (item) => events.push(`~${item.id}`),
      dropped: (item) => events.push(`-${item.id}`),
      missed: (seq) => events.push(`missed ${seq}`),
      completed: () => events.push("complete"),
    });
    const of = (id: string, rest: object) => ({ role: "assistant" as const, type: "message", id, ...rest });
    const take = (seq: number, nextSeq: number, ...chunks: ReturnType<typeof of>[]) =>
      conversation.take({ sessionId: "s", turnId: "t", seq, nextSeq, chunks });
    take(1, 3, of("a", { start: true }), of("a", { content: "one " }));
    take(5, 6, of("a", { end: true }));
    take(6, 7, of("b", { start: true }));
    take(1, 5, of("a", { start: true }), of("a", { content: "one two" }), of("a", { end: true }));
    take(5, 6, { ...of("", { content: "complete" }), type: "status" });
    return { events, text: conversation.items.map(({ id, text, done }) => [id, text, done]) };
  });
  assert.deepEqual(told.events, ["+a", "~a", "missed 2", "-a", "+a", "~a", "~a", "complete"]);
  assert.deepEqual(told.text, [["a", "one two", true]]);
});

test("an undo takes back the last turn, and not what stands beside the conversation", async () => {
  const left = await page.evaluate(() => {
    const nothing = () => undefined;
    const listener = { added: nothing, changed: nothing, dropped: nothing, missed: nothing, completed: nothing };
    const conversation = new parts.Conversation(listener);
    const after: string[] = [];
    let seq = 0;
    const take = (type: string, rest: object) => {
      const chunk = { role: "user" as const, type, ...rest };
      seq += 1;
      conversation.take({ sessionId: "s", turnId: "t", seq, nextSeq: seq + 1, chunks: [chunk], replay: true });
      after.push(conversation.items.map(({ id }) => id).join(""));
    };
    const said = (id: string, rest: object = {}) => {
      take("message", { id, start: true, ...rest });
      take("message", { id, end: true });
    };
    said("a");
    take("status", { content: "complete" });
    said("b");
    said("c");
    take("command", { content: "magic", id: "mark" });
    said("x", { parent: "mark" });
    take("status", { content: "complete", parent: "mark" });
    take("error", { id: "e", content: "It failed." });
    take("status", { content: "complete" });
    take("command", { content: "undo", id: "u" });
    said("d");
    take("command", { content: "undo", id: "v" });
    take("command", { content: "undo", id: "w" });
    return [...new Set(after)];
  });
  assert.deepEqual(left, ["a", "ab", "abc", "abcx", "abcxe", "ax", "axd", "x"]);
});

test("what the sandbox stopped is offered until it is allowed, at whatever block", async () => {
  const left = await page.evaluate(() => {
    const nothing = () => undefined;
    const changed: string[] = [];
    const conversation = new parts.Conversation({
      added: nothing,
      changed: (item) => changed.push(item.id),
      dropped: nothing,
      missed: nothing,
      completed: nothing,
    });
    const denied = (id: string, paths: string[], network: boolean) => {
      const content = { paths, network };
      return { role: "computer" as const, type: "command", format: "denied", id, parent: "code", content };
    };
    const chunks = [denied("a", ["/data", "/other"], false), denied("b", ["/data"], true)];
    const allowed = (paths: string[], network: boolean) => ({ ...denied("c", paths, network), format: "allowed" });
    chunks.push(allowed(["/data"], false), allowed(["/data"], true));
    conversation.take({ sessionId: "s", turnId: "t", seq: 1, nextSeq: 5, chunks });
    return { changed, denied: conversation.items.map((item) => item.denied) };
  });
  assert.deepEqual(left.denied, [
    { paths: ["/other"], network: false },
    { paths: [], network: false },
  ]);
  assert.deepEqual(left.changed, ["a", "b", "a", "b"]);
});
