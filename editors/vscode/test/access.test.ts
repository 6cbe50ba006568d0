// By keyboard alone, and as axe-core sees it.
import assert from "node:assert/strict";
import * as fs from "node:fs";
import { createRequire } from "node:module";
import { Panel, seen, until } from "./panel.ts";

const AXE = fs.readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const panel = await Panel.open({ machine: { "oi-lsp.model": "tour" }, first: "Open Interpreter: Take the Tour" });
const tried = (name: string, body: (panel: Panel) => Promise<void>) => seen(name, panel, body);

tried("the tour is there when it is the first that one asks for", async ({ frame }) => {
  await frame.locator(".message.user", { hasText: "Show me how this works." }).waitFor();
  await panel.proposed.getByRole("button", { name: "Reject" }).click();
  await panel.rest();
});

tried("a whole round by keyboard alone", async ({ page, frame }) => {
  await panel.command("Open Interpreter: Focus the Chat");
  await frame.locator("#message:focus").waitFor();
  await page.keyboard.type("ask me something");
  await page.keyboard.press("Enter");
  await panel.proposed.waitFor();
  await page.keyboard.press("Escape");
  await panel.proposed.locator(".cm-content:focus").waitFor();
  await page.keyboard.press("ControlOrMeta+End");
  await page.keyboard.type("\nprint('typed')");
  await page.keyboard.press("Escape");
  await panel.proposed.getByRole("button", { name: "Run", exact: true }).and(frame.locator(":focus")).waitFor();
  await page.keyboard.press("Shift+Tab");
  await panel.proposed.locator(".cm-content:focus").waitFor();
  await page.keyboard.press("ControlOrMeta+Enter");
  await frame.locator(".question input:focus").waitFor();
  await page.keyboard.type("Ada");
  await page.keyboard.press("Enter");
  await frame.locator(".output", { hasText: "typed" }).waitFor();
  await panel.rest();
  assert.match((await frame.locator("#live").textContent()) ?? "", /complete/);
});

tried("commands are offered while one types them", async ({ page, frame }) => {
  await panel.field.fill("%he");
  await frame.getByRole("option", { name: /%help/ }).waitFor();
  await page.keyboard.press("Tab");
  assert.match(await panel.field.inputValue(), /^%help/);
  await page.keyboard.press("Enter");
  await frame.locator(".note", { hasText: "Show these commands" }).waitFor();
});

tried("each button of the walkthrough does what it says, the first with no key", async ({ page }) => {
  const titled = (title: string) => page.locator(".quick-input-widget", { hasText: title });
  const step = (name: string) => page.locator(".getting-started-step", { hasText: name });
  const leave = async (title: string) => {
    await titled(title).waitFor();
    await page.keyboard.press("Escape");
    await titled(title).waitFor({ state: "hidden" });
  };
  await panel.command("Welcome: Open Walkthrough...");
  await page.locator(".quick-input-list [role=option]", { hasText: "the first minutes" }).first().click();
  const tour = step("See how it works, with no key");
  await tour.getByRole("button", { name: "Take the Tour" }).click();
  await panel.proposed.getByRole("button", { name: "Reject" }).click();
  await panel.rest();
  await tour.and(page.locator(".done, :has(.codicon-getting-started-step-checked.complete)")).first().waitFor();
  await panel.shot("walkthrough");
  await step("Let a model answer").click();
  await step("Let a model answer").getByRole("button", { name: "Set a Key" }).click();
  await leave("Whose key?");
  await step("Let a model answer").getByRole("button", { name: "Choose a Model" }).click();
  await leave("Model");
  await step("Work on your own files").click();
  await step("Work on your own files").getByRole("button", { name: "Open a File" }).click();
  await page.keyboard.press("Escape");
  await step("Work on your own files").getByRole("button", { name: "Ask about the Selection" }).click();
  await page.locator(".notification-toast", { hasText: "Open a file in an editor" }).waitFor();
});

const colour = () => panel.field.evaluate(() => document.documentElement.style.getPropertyValue("--token-keyword"));
let keyword = await colour();

for (const theme of ["Dark Modern", "Light Modern", "Dark High Contrast"]) {
  tried(`axe-core has no serious finding: ${theme}`, async () => {
    await panel.theme(theme);
    const before = keyword;
    await until(async () => (keyword = await colour()) !== before, "the colours of code follow the theme");
    await panel.send("make a mistake");
    await panel.proposed.waitFor();
    await panel.field.evaluate(AXE);
    const found = await panel.field.evaluate(async () => {
      const { axe } = window as unknown as { axe: { run: (node: Node) => Promise<{ violations: Violation[] }> } };
      return (await axe.run(document)).violations;
    });
    const serious = found.filter(({ impact }) => impact === "serious" || impact === "critical");
    const told = serious.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join(" | ")}`);
    assert.deepEqual(told, []);
    await panel.proposed.locator("summary").click();
    for (const width of [200, 260, 320]) {
      await panel.resize(width);
      await until(async () => (await outOfSight()).length === 0, `all buttons are in sight at ${width} pixels`).catch(
        async () => assert.deepEqual(await outOfSight(), []),
      );
      await panel.shot(`theme-${theme.replaceAll(" ", "-")}-${width}`);
    }
    await panel.proposed.getByRole("button", { name: "Reject" }).click();
    await panel.rest();
  });
}

tried("what grows at the end is followed, unless one has scrolled up", async ({ frame }) => {
  const moved = await frame.locator("#conversation").evaluate(async (conversation) => {
    const frames = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    const grow = (pixels: number) => {
      const row = document.createElement("div");
      row.style.height = `${pixels}px`;
      conversation.firstElementChild?.append(row);
    };
    // The conversation is turned over: its end is where it is not scrolled.
    const left = () => -conversation.scrollTop;
    conversation.scrollTop = 0;
    await frames();
    grow(500);
    await frames();
    const followed = left();
    conversation.scrollTop -= 300;
    await frames();
    grow(100);
    await frames();
    return { followed, after: left() };
  });
  assert.ok(moved.followed < 2 && moved.after >= 400, JSON.stringify(moved));
});

/** The buttons of blocks that are not whole: past the edge of the panel, or, of code that waits, above or below it. */
async function outOfSight(): Promise<string[]> {
  return panel.frame.locator("#conversation").evaluate((conversation) => {
    const of = conversation.getBoundingClientRect();
    const found = [...conversation.querySelectorAll<HTMLElement>(".block button")].filter((button) => {
      if (!button.checkVisibility()) return false;
      const { left, right, top, bottom } = button.getBoundingClientRect();
      const isDecision = button.closest(".decision") !== null;
      return left < of.left || right > of.right || (isDecision && (top < of.top || bottom > of.bottom));
    });
    return found.map((button) => button.textContent);
  });
}

interface Violation {
  id: string;
  impact: string | null;
  nodes: { html: string }[];
}
