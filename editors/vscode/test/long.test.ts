// A long conversation stays smooth.
import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import { Panel, seen } from "./panel.ts";
import { Provider } from "./provider.ts";

const MESSAGES = 2000;
/** Milliseconds that a frame may take while an answer comes in; more is allowed where this machine does other work. */
const LONGEST = 50;

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

seen(
  `${MESSAGES} messages: shown at their end, and no frame is long while an answer comes in`,
  panel,
  async ({ frame }) => {
    await panel.send("%load_message long.json");
    await frame
      .locator(".message.user")
      .nth(MESSAGES / 4 - 1)
      .waitFor({ timeout: 60_000 });
    await panel.command("View: Hide Secondary Side Bar");
    await panel.field.waitFor({ state: "hidden" });
    await panel.show();
    await frame.locator(".output", { hasText: "2" }).last().waitFor();

    provider.say({ text: `${"A long answer, in pieces. ".repeat(20)}\n\n`.repeat(40) });
    await panel.field.evaluate(() => {
      const long = ((window as unknown as { frames_: number[] }).frames_ = []) as number[];
      let last = performance.now();
      const tick = (now: number) => {
        long.push(now - last);
        last = now;
        requestAnimationFrame(tick);
      };
      requestAnimationFrame(tick);
    });
    await panel.send("Say much.");
    await panel.said.getByText("A long answer, in pieces.").first().waitFor();
    await panel.rest();
    const frames = await panel.field.evaluate(() => (window as unknown as { frames_: number[] }).frames_);
    frames.sort((a, b) => a - b);
    const at = (share: number) => Math.round(frames[Math.floor(frames.length * share)] ?? 0);
    console.log(
      `frames: ${frames.length}, half within ${at(0.5)} ms, 99 of 100 within ${at(0.99)} ms, all within ${at(0.9999)} ms`,
    );
    assert.ok(at(0.95) <= LONGEST, `95 of 100 frames within ${at(0.95)} ms`);
    await panel.shot("long");
  },
);
