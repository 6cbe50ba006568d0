// In the editor: an edit hunk by hunk, code that is run where it stands, files that are taken into the chat.
import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import { Panel, seen, until } from "./panel.ts";
import { Provider } from "./provider.ts";

const BEFORE = `def area(r):
    return 3 * r * r


def ring(r):
    return 2 * 3 * r


print("ran:", area(2))
`;
const AFTER = BEFORE.replace("return 3 * r * r", "return math.pi * r ** 2").replace("2 * 3 * r", "2 * math.pi * r");

const provider = await Provider.start();
const panel = await Panel.open({
  machine: provider.settings,
  env: Provider.environment,
  files: { "shapes.py": BEFORE },
});
const tried = (name: string, body: (panel: Panel) => Promise<void>) => seen(name, panel, body);
const file = path.join(panel.workbench.workspace, "shapes.py");
const editor = panel.page.locator(".editor-instance .monaco-editor").first();
const text = async () => (await editor.locator(".view-lines").first().innerText()).replaceAll("\u00a0", " ");

async function open(): Promise<void> {
  await panel.page.keyboard.press("ControlOrMeta+p");
  await panel.page.locator(".quick-input-widget input").first().fill("shapes.py");
  await panel.page.locator(".quick-input-list [role=option]", { hasText: "shapes.py" }).first().click();
  await editor.locator(".view-line", { hasText: "def area" }).click();
}

tried("an edit: one hunk accepted, one rejected, the first undone", async ({ page }) => {
  await open();
  await page.keyboard.press("ControlOrMeta+a");
  provider.say({ text: `\`\`\`python\n${AFTER}\`\`\`\n` });
  await panel.command("Open Interpreter: Edit Selection…");
  await page.locator(".quick-input-widget input").first().fill("use the real number");
  await page.keyboard.press("Enter");
  const lens = (name: string) => editor.locator(".codelens-decoration a", { hasText: new RegExp(`^${name}: `) });
  await until(async () => (await lens("Accept").count()) === 2, "two hunks are shown");
  await editor.locator(".review-widget", { hasText: "math.pi * r ** 2" }).waitFor();
  assert.ok(!(await text()).includes("math.pi * r ** 2\n\n\ndef"), "nothing is written yet");
  await panel.shot("edit");
  await lens("Accept").first().click();
  await until(async () => (await lens("Accept").count()) === 1, "one hunk is left");
  await until(async () => (await text()).includes("return math.pi * r ** 2"), "the hunk is written");
  assert.ok((await text()).includes("2 * 3 * r"));
  await lens("Reject").first().click();
  await until(async () => (await lens("Accept").count()) === 0, "no hunk is left");
  assert.ok((await text()).includes("2 * 3 * r"));
  await editor.locator(".view-line", { hasText: "def area" }).click();
  await page.keyboard.press("ControlOrMeta+z");
  await until(async () => (await text()).includes("return 3 * r * r"), "the hunk is undone");
  assert.equal(fs.readFileSync(file, "utf8"), BEFORE);
});

tried("the file is run, and what comes of it stands beside the code", async ({ frame }) => {
  await panel.command("Open Interpreter: Run File");
  await frame.locator(".block .output", { hasText: "ran: 12" }).waitFor();
  await editor.locator(".view-line", { hasText: "ran: 12" }).waitFor();
  await panel.rest();
  await panel.shot("run-file");
});

tried("what is selected goes into the chat, as one sees before it is sent", async ({ page, frame }) => {
  await editor.locator(".view-line", { hasText: "def ring" }).click();
  await panel.command("Open Interpreter: Add to Chat");
  const chip = frame.locator(".chips li", { hasText: "shapes.py:5–5" });
  await chip.waitFor();
  provider.say({ text: "It is a ring." });
  await panel.send("What is this?");
  await panel.said.getByText("It is a ring.").waitFor();
  assert.equal(await chip.count(), 0);
  assert.match(JSON.stringify(provider.requests.at(-1)), /def ring\(r\):/);
  await page.locator(".statusbar-item", { hasText: "openai/gpt-4o" }).waitFor();
});
