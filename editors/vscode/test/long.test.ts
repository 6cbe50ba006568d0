// A long conversation stays smooth, and all of it is there for those who look for something in it or have it read aloud.
import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import { at, framesOf, told } from "./frames.ts";
import { Panel, seen, until } from "./panel.ts";
import { Provider } from "./provider.ts";

const MESSAGES = 2000;
/** Of them, those with a row of their own: output stands in the row of its code. */
const ROWS = (MESSAGES / 4) * 3;
/** Milliseconds that the main thread may work for nine of ten frames: what is more makes frames late on any machine. */
const FRAME = 16;
const END = "The end of it.";

const words = "Some words with `code`, **weight** and a [link](https://example.invalid/).\n\n- one\n- two\n\n";
const messages = Array.from({ length: MESSAGES }, (_, at) => {
  if (at % 4 === 0) return { role: "user", type: "message", content: `Question ${at}` };
  if (at % 4 === 1) return { role: "assistant", type: "message", content: `Answer ${at}. ${words}` };
  if (at % 4 === 2)
    return { role: "assistant", type: "code", format: "python", content: `for i in range(${at}):\n    print(i)` };
  return { role: "computer", type: "console", format: "output", content: "0\n1\n2\n".repeat(5) };
});

const provider = await Provider.start();
const panel = await Panel.open({ machine: provider.settings, env: Provider.environment });
fs.writeFileSync(path.join(panel.workbench.workspace, "long.json"), JSON.stringify(messages));
const page = await panel.page.context().newCDPSession(panel.page);
await page.send("Performance.enable");
const list = panel.frame.locator(".list");

/** How often anything in the window was laid out so far. */
async function layouts(): Promise<number> {
  const { metrics } = await page.send("Performance.getMetrics");
  return metrics.find(({ name }) => name === "LayoutCount")?.value ?? 0;
}

/** Wait until nothing is left to be drawn. */
async function untilDrawn(): Promise<void> {
  const isDrawn = () =>
    list.evaluate((element) => element.querySelector(".text:empty, .markdown:empty, .body:empty") === null);
  await until(isDrawn, "all is drawn");
}

seen(`${MESSAGES} messages: all are drawn, and only those near what is seen are laid out`, panel, async ({ frame }) => {
  const before = await layouts();
  await panel.send("%load_message long.json");
  await frame
    .locator(".message.user")
    .nth(MESSAGES / 4 - 1)
    .waitFor({ timeout: 60_000 });
  await panel.rest();
  await untilDrawn();
  const count = (await layouts()) - before;
  const [all, laidOut] = await list.evaluate((element) => {
    const rows = [...element.querySelectorAll(":scope > .page > *")];
    return [rows.length, rows.filter((row) => row.checkVisibility({ contentVisibilityAuto: true })).length] as const;
  });
  console.log(`laid out: ${count} times, ${laidOut} of ${all} rows`);
  // Many times as many, if each of the 500 outputs were measured.
  assert.ok(count < 200, `laid out ${count} times`);
  assert.ok(all >= ROWS, `${all} rows`);
  assert.ok(laidOut < ROWS / 4, `${laidOut} rows are laid out`);
  await panel.command("View: Hide Secondary Side Bar");
  await panel.field.waitFor({ state: "hidden" });
  await panel.show();
  await frame.locator(".output", { hasText: "2" }).last().waitFor();
  await untilDrawn();
});

seen("an answer that comes in is drawn once a frame, and nothing else with it", panel, async () => {
  provider.say({ text: `${"A long answer, in pieces. ".repeat(20)}\n\n`.repeat(40) + END, pause: 1 });
  await panel.send("Say much.");
  const changed = { times: 0, rows: 0 };
  const frames = await framesOf(panel, async () => Object.assign(changed, await list.evaluate(followed, END)));
  console.log(told("an answer comes in", frames));
  // A row is put in when it comes, and drawn in a frame.
  assert.ok(changed.times <= frames.work.length + 5, `drawn ${changed.times} times in ${frames.work.length} frames`);
  // The message, the answer, and a note that the conversation was loaded from a file.
  assert.ok(changed.rows <= 3, `${changed.rows} rows were drawn`);
  assert.ok(at(frames.work, 0.9) <= FRAME, told("too much work", frames));
  await panel.shot("long");
});

/** Ask for one frame after the other until the last message has come. Answers how often rows changed, and how many did. */
async function followed(list: Element, end: string): Promise<{ times: number; rows: number }> {
  const rows = new Set<Element>();
  let times = 0;
  const watch = new MutationObserver((changes) => {
    times += 1;
    for (const { target } of changes) {
      const row = (target instanceof Element ? target : target.parentElement)?.closest(".page > *");
      if (row) rows.add(row);
    }
  });
  watch.observe(list, { childList: true, characterData: true, subtree: true });
  const button = document.querySelector("#composer button[type=submit]");
  const isOver = () =>
    list.lastElementChild?.lastElementChild?.textContent.endsWith(end) === true && button?.textContent === "Send";
  while (!isOver()) await new Promise((resolve) => requestAnimationFrame(resolve));
  watch.disconnect();
  return { times, rows: rows.size };
}

seen("one scrolls up through it", panel, async () => {
  const frames = await framesOf(panel, async () =>
    list.evaluate(async (element) => {
      for (let left = 100; left > 0; left--) {
        element.parentElement?.scrollBy(0, -400);
        await new Promise((resolve) => requestAnimationFrame(resolve));
      }
    }),
  );
  console.log(told("scrolling up", frames));
  assert.ok(at(frames.work, 0.9) <= FRAME, told("too much work", frames));
});

seen("a message far from what is seen is found and shown", panel, async ({ frame }) => {
  const found = await list.evaluate(() => {
    getSelection()?.removeAllRanges();
    // What VS Code's own search in a webview calls.
    const isFound = (window as unknown as { find(words: string): boolean }).find("Answer 1.");
    return isFound ? getSelection()?.anchorNode?.parentElement?.closest(".message")?.textContent : undefined;
  });
  assert.match(found ?? "", /^Answer 1\. Some words/);
  const first = frame.getByText("Answer 1.");
  await first.scrollIntoViewIfNeeded();
  const isSeen = () =>
    first.evaluate((element) => {
      const { top, bottom } = element.getBoundingClientRect();
      return top >= 0 && bottom <= innerHeight;
    });
  await until(isSeen, "what was found is seen");
});
