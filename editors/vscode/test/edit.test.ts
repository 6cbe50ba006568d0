// In the editor: an edit hunk by hunk, code that is run where it stands, files that are taken into the chat.
import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import type { Locator } from "playwright-core";
import { Panel, seen, until } from "./panel.ts";
import { Provider, type Answer } from "./provider.ts";

const BEFORE = `def area(r):
    return 3 * r * r


def ring(r):
    return 2 * 3 * r


print("ran:", area(2))
`;
const PLACES = "one = 1\n" + "# a line\n".repeat(80) + "\tlast = 2\n";
const AFTER = BEFORE.replace("return 3 * r * r", "return math.pi * r ** 2").replace("2 * 3 * r", "2 * math.pi * r");

/** A picture of one pixel, as PNG in base64. */
const DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

const provider = await Provider.start();
const panel = await Panel.open({
  machine: provider.settings,
  env: Provider.environment,
  files: {
    "shapes.py": BEFORE,
    "places.py": PLACES,
    "fails.py": "x = 0\n1 / x\n",
    "bad.json": "{wrong}",
    "notes.md": "# Some notes",
  },
});
const tried = (name: string, body: (panel: Panel) => Promise<void>) => seen(name, panel, body);
const file = path.join(panel.workbench.workspace, "shapes.py");
const editor = panel.page.locator(".editor-instance .monaco-editor").first();
const text = async () => (await editor.locator(".view-lines").first().innerText()).replaceAll("\u00a0", " ");

const lens = (name: string) => editor.locator(".codelens-decoration a", { hasText: new RegExp(`^${name}: `) });

async function open(name: string, line: string): Promise<void> {
  await panel.pick("ControlOrMeta+p", name, name);
  await editor.locator(".view-line", { hasText: line }).click();
}

/** Have the whole file edited, and wait for the two hunks of that. */
async function edit(): Promise<void> {
  await editor.locator(".view-line", { hasText: "def area" }).click();
  await editTo(AFTER, "use the real number");
  await waits(2);
}

/** Have the model write all of the active file anew. */
async function editTo(after: string, instruction: string, more: Partial<Answer> = {}): Promise<void> {
  provider.say({ text: `\`\`\`\`python\n${after}${more.hold === true ? "" : "````\n"}`, ...more });
  await editAll(instruction);
}

async function editAll(instruction: string): Promise<void> {
  await panel.page.keyboard.press("ControlOrMeta+a");
  await panel.command("Open Interpreter: Edit Selection…");
  await answer(instruction);
}

/** Wait until so many hunks are shown, by the server's lenses and by the lines of the extension's own. */
async function waits(count: number): Promise<void> {
  await until(async () => (await lens("Accept").count()) === count, `${count} hunks have a lens`);
  await until(
    async () => (await editor.locator(".review-widget").count()) === count,
    `${count} hunks have their lines`,
  );
}

/** The lines that a hunk would bring, as they are seen. */
async function shownIn(widget: Locator): Promise<string> {
  return (await widget.locator(".comment-body td").last().innerText()).replaceAll("\u00a0", " ");
}

async function asked(words: string): Promise<void> {
  await panel.page.locator(".quick-input-widget", { hasText: words }).waitFor();
}

/** Type into the field that VS Code shows. */
async function answer(words: string): Promise<void> {
  const input = panel.page.locator(".quick-input-widget input").first();
  await input.fill(words);
  await input.press("Enter");
}

tried("an edit: one hunk accepted, one rejected, the first undone", async ({ page }) => {
  await open("shapes.py", "def area");
  await edit();
  const proposed = editor.locator(".review-widget", { hasText: "math.pi * r ** 2" });
  assert.equal(await shownIn(proposed), "    return math.pi * r ** 2");
  assert.ok(!(await text()).includes("math.pi"), "nothing is written yet");
  assert.equal(await page.locator(".comments-panel").count(), 0, "VS Code's list of comments stays away");
  await panel.shot("edit");
  await proposed.getByRole("button", { name: "Compare the File with the Edit" }).click();
  await page.locator(".monaco-diff-editor .line-insert").first().waitFor();
  await panel.shot("compare");
  await panel.command("View: Close Editor");
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

tried("an edit by keys: the next and the previous hunk, one, all", async ({ page }) => {
  await edit();
  await editor.locator(".view-line", { hasText: "def area" }).click();
  await page.keyboard.press("Alt+F5");
  await page.keyboard.press("Alt+F5");
  await page.keyboard.press("Alt+Backspace");
  await waits(1);
  await page.keyboard.press("Shift+Alt+F5");
  await page.keyboard.press("Alt+Enter");
  await until(async () => (await text()).includes("return math.pi * r ** 2"), "the first hunk is written");
  assert.ok((await text()).includes("2 * 3 * r"));
  await page.keyboard.press("ControlOrMeta+z");
  await until(async () => (await text()).includes("return 3 * r * r"), "the hunk is undone");
  await edit();
  await editor.locator(".view-line", { hasText: "def area" }).click();
  await page.keyboard.press("ControlOrMeta+Alt+Enter");
  await until(async () => ((await text()).match(/math\.pi/g) ?? []).length === 2, "all hunks are written");
  await page.keyboard.press("ControlOrMeta+z");
  await page.keyboard.press("ControlOrMeta+z");
  await waits(2);
  await page.keyboard.press("ControlOrMeta+Alt+Backspace");
  await waits(0);
  assert.ok(!(await text()).includes("math.pi"));
});

tried("new lines stand where they would go, as they are; what is not seen is shown before it is accepted", async () => {
  const { page } = panel;
  await open("places.py", "one = 1");
  const odd = "\tx = 2  # ``` </td></table><b>bold</b> \u202e";
  const after = `# first\n${PLACES.replace("\tlast", `${odd}\n\tlast`)}`;
  const words = "See [this](command:workbench.action.closeActiveEditor).";
  provider.say({ text: `${words}\n\n\`\`\`\`python\n${after}\`\`\`\`\n` });
  await editAll("add lines");
  const toast = page.locator(".notification-toast", { hasText: "See [this]" });
  await toast.waitFor();
  assert.equal(await toast.locator(".notification-list-item-message a").count(), 0, "no link of a model's");
  await page.keyboard.press("ControlOrMeta+Home");
  const first = editor.locator(".review-widget", { hasText: "# first" });
  await first.waitFor();
  const top = async (of: typeof first) => (await of.boundingBox())?.y ?? 0;
  assert.ok(
    (await top(first)) < (await top(editor.locator(".view-line", { hasText: "one = 1" }))),
    "above the first line",
  );
  await page.keyboard.press("Alt+Enter");
  await until(async () => (await text()).includes("# first"), "the hunk at the cursor is written");
  await page.keyboard.press("ControlOrMeta+Home");
  await page.keyboard.press("Alt+Enter");
  const last = editor.locator(".view-line", { hasText: "last = 2" });
  await last.waitFor();
  const below = editor.locator(".review-widget", { hasText: "x = 2" });
  assert.equal(await shownIn(below), "    x = 2  # ``` </td></table><b>bold</b> ‹U+202E›");
  assert.ok((await top(below)) < (await top(last)), "above the line that it goes before");
  assert.ok(!(await text()).includes("x = 2"), "it is only shown");
  await panel.shot("places");
  await page.keyboard.press("Alt+Enter");
  await until(async () => (await text()).includes("x = 2"), "it is written");
  await page.keyboard.press("ControlOrMeta+z");
  await waits(1);
  await page.keyboard.press("ControlOrMeta+Alt+Backspace");
  await waits(0);
});

tried("an edit that is stopped keeps what came, and a hunk whose lines are changed is withdrawn", async ({ page }) => {
  await open("shapes.py", "def area");
  await editTo(AFTER.slice(0, AFTER.indexOf("def ring")), "use the real number", { hold: true });
  await waits(1);
  await page.locator(".notification-toast").getByRole("button", { name: "Cancel" }).click();
  await until(async () => (await lens("Stop").count()) === 0, "it is stopped");
  await editor.locator(".view-line", { hasText: "3 * r * r" }).click();
  await page.keyboard.press("End");
  await page.keyboard.type("+");
  await page.locator(".statusbar-item", { hasText: "A change was withdrawn" }).waitFor();
  await waits(0);
  await page.keyboard.press("Backspace");
  await waits(1);
  await page.keyboard.press("Alt+Backspace");
  await waits(0);
});

tried("a file that is read-only is not edited, and one is told why", async ({ page }) => {
  fs.chmodSync(file, 0o444);
  await editAll("use the real number");
  await page.locator(".notification-toast", { hasText: "shapes.py is read-only" }).waitFor();
  fs.chmodSync(file, 0o644);
});

tried("a file is written that was not there, once one has seen it", async ({ page }) => {
  const made = path.join(panel.workbench.workspace, "greet.py");
  for (const decision of ["Reject", "Make the File"]) {
    provider.say({ text: "```python\nprint('good day')\n```\n" });
    await panel.command("Open Interpreter: Write a New File…");
    await asked("Its name, in the folder of this window");
    await answer("greet.py");
    await asked("What is to be in it?");
    await answer("greet people");
    await editor.locator(".view-line", { hasText: "good day" }).waitFor();
    assert.ok(!fs.existsSync(made), "nothing is written yet");
    const question = page.locator(".notification-toast", { hasText: "Make the file greet.py" });
    await question.getByRole("button", { name: decision }).click();
    await question.waitFor({ state: "hidden" });
  }
  await until(() => fs.existsSync(made), "the file is written");
  assert.match(fs.readFileSync(made, "utf8"), /good day/);
  await page.locator(".tab.active", { hasText: "greet.py" }).waitFor();
  await open("shapes.py", "def area");
});

tried("the file is run, and what comes of it stands beside the code", async ({ frame }) => {
  await panel.command("Open Interpreter: Run File");
  await frame.locator(".block .output", { hasText: "ran: 12" }).waitFor();
  await editor.locator(".view-line", { hasText: "ran: 12" }).waitFor();
  await panel.rest();
  await panel.shot("run-file");
});

tried("where code fails is shown at its line, until that is edited", async ({ page }) => {
  await open("fails.py", "1 / x");
  await page.keyboard.press("ControlOrMeta+a");
  await panel.command("Open Interpreter: Run Selection");
  const hint = editor.locator(".view-line", { hasText: "1 / x" }).filter({ hasText: "ZeroDivisionError" });
  await hint.waitFor();
  await editor.locator(".squiggly-error").waitFor();
  await panel.shot("fails");
  await editor.locator(".view-line", { hasText: "1 / x" }).click();
  await page.keyboard.press("Home");
  await page.keyboard.type("2 + ");
  await editor.locator(".squiggly-error").waitFor({ state: "detached" });
  await hint.waitFor({ state: "detached" });
  await open("shapes.py", "def area");
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

tried("a question about what is selected is answered in the chat", async () => {
  await editor.locator(".view-line", { hasText: "def area" }).click();
  provider.say({ text: "Of a disc." });
  await panel.command("Open Interpreter: Ask about Selection…");
  await answer("The area of what?");
  await panel.said.getByText("Of a disc.").waitFor();
  assert.match(
    JSON.stringify(provider.requests.at(-1)),
    /def area\(r\):.*The area of what\?|The area of what\?.*def area/,
  );
});

tried("a file of the Explorer, its problems and a picture go with a message", async ({ page, frame }) => {
  const chips = frame.locator(".chips li");
  await panel.command("View: Show Explorer");
  const row = (name: string) => page.locator(".explorer-folders-view .monaco-list-row", { hasText: name });
  await row("bad.json").click();
  await editor.locator(".squiggly-error").first().waitFor();
  await row("notes.md").click({ button: "right" });
  // A menu takes no click in its first moments.
  await page.locator(".monaco-menu .action-item", { hasText: "Add to Chat" }).first().hover();
  await page.keyboard.press("Enter");
  await chips.filter({ hasText: "notes.md" }).waitFor();
  await frame.getByRole("button", { name: "Attach…" }).click();
  await page.locator(".quick-input-list [role=option]", { hasText: "The problems" }).click();
  await chips.filter({ hasText: "Problems of bad.json" }).waitFor();
  await panel.field.evaluate((field, bytes) => {
    const clipboardData = new DataTransfer();
    const data = Uint8Array.from(atob(bytes), (each) => each.charCodeAt(0));
    clipboardData.items.add(new File([data], "dot.png", { type: "image/png" }));
    field.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
  }, DOT);
  await chips.filter({ hasText: "dot.png" }).waitFor();
  await panel.shot("chips");
  provider.say({ text: "All of it came." });
  await panel.send("What is there?");
  await panel.said.getByText("All of it came.").waitFor();
  const sent = JSON.stringify(provider.requests.at(-1));
  for (const part of ["# Some notes", "bad.json:1:2: error", DOT]) assert.ok(sent.includes(part), part);
});
