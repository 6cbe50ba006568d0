// Parts of the panel by themselves, in the browser that it runs in.
import assert from "node:assert/strict";
import * as path from "node:path";
import { after, test } from "node:test";
import * as esbuild from "esbuild";
import { chromium } from "playwright-core";
import type { Conversation as ConversationType } from "../src/panel/conversation.ts";
import type { Markdown as MarkdownType } from "../src/panel/markdown.ts";
import type { Lines as LinesType } from "../src/panel/output.ts";
import { CHROMIUM, FLAGS } from "./panel.ts";
import { HERE } from "./workbench.ts";

const bundle = await esbuild.build({
  stdin: {
    contents: `export { Markdown } from "./markdown.js"; export { Lines } from "./output.js";
      export { Conversation } from "./conversation.js";`,
    resolveDir: path.join(HERE, "src", "panel"),
  },
  bundle: true,
  write: false,
  format: "iife",
  globalName: "parts",
});
const browser = await chromium.launch({ executablePath: CHROMIUM ?? "", args: FLAGS });
after(() => browser.close());
const page = await browser.newPage();
await page.evaluate("globalThis.acquireVsCodeApi = () => ({ postMessage() {}, getState() {}, setState() {} })");
await page.evaluate(`${bundle.outputFiles[0]?.text ?? ""}; globalThis.parts = parts;`);

interface Parts {
  Markdown: typeof MarkdownType;
  Lines: typeof LinesType;
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
        pieces.forEach((piece) => markdown.show(piece));
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
