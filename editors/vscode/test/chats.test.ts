// Many chats: new ones, branches, history, export; and the model that answers.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import { after } from "node:test";
import { Panel, seen, until } from "./panel.ts";
import { Provider } from "./provider.ts";
import { HERE } from "./workbench.ts";

/** Whether programs can be shut in here. */
const SANDBOX = spawnSync("bwrap", ["--unshare-all", "--ro-bind", "/", "/", "true"]).status === 0;
/** Asks an address of nobody. */
const OUT = "import socket\nsocket.create_connection(('192.0.2.1', 80))";

const provider = await Provider.start({ text: "Whales sing." }, { text: "They do." }, { text: "Ants do not." });
const panel = await Panel.open({
  machine: provider.settingsWith({ policy: { deny: ["rm"], allow: ["echo *"] }, sandbox: SANDBOX ? "strict" : "off" }),
  env: Provider.environment,
});
const tried = (name: string, body: (panel: Panel) => Promise<void>) => seen(name, panel, body);

tried("a branch goes on from a message, and the other chat is found again by its words", async ({ page, frame }) => {
  const messages = frame.locator(".message.user");
  await panel.send("What do whales do?");
  await panel.said.getByText("Whales sing.").waitFor();
  await panel.rest();
  await panel.send("Really?");
  await panel.said.getByText("They do.").waitFor();
  await panel.rest();
  await messages.first().hover();
  await messages.first().getByRole("button", { name: "Branch" }).click();
  await until(async () => (await messages.count()) === 1, "the branch is shown");
  await panel.send("And ants?");
  await panel.said.getByText("Ants do not.").waitFor();
  await panel.command("Open Interpreter: Show History…");
  await page.locator(".quick-input-widget input").first().fill("really");
  await page.locator(".quick-input-list [role=option]", { hasText: "Really?" }).first().click();
  await panel.said.getByText("They do.").waitFor();
});

tried("a chat is exported", async ({ page, workbench }) => {
  await panel.command("Open Interpreter: Export the Chat…");
  await page.locator(".quick-input-list [role=option]", { hasText: "Markdown" }).first().click();
  const name = page.locator(".quick-input-widget input").first();
  await until(async () => (await name.inputValue()).endsWith(".md"), "a name for the file is offered");
  const file = path.join(workbench.workspace, "chat.md");
  await name.fill(file);
  await name.press("Enter");
  await until(() => fs.existsSync(file), "the file is written");
  // It is shown, and has the cursor then.
  await page.locator(".editor-instance .monaco-editor.focused", { hasText: "Whales sing." }).waitFor();
  assert.match(fs.readFileSync(file, "utf8"), /Whales sing\./);
});

tried("the chat is renamed", async ({ page }) => {
  await panel.command("Open Interpreter: Rename the Chat…");
  await page.locator(".quick-input-title", { hasText: "Rename the chat" }).waitFor();
  const name = page.locator(".quick-input-widget input").first();
  await name.fill("On whales");
  await name.press("Enter");
  await panel.command("Open Interpreter: Show History…");
  await page.locator(".quick-input-list [role=option]", { hasText: "On whales" }).waitFor();
  await name.press("Escape");
});

tried("what is found in the code is said at it, before it is decided on", async () => {
  provider.say({ code: "rm -rf made", language: "shell" }, { text: "As you like." });
  await panel.send("Tidy up.");
  await panel.proposed.locator(".findings li", { hasText: "rm" }).waitFor();
  await panel.proposed.getByRole("button", { name: "Reject" }).click();
  await panel.said.getByText("As you like.").waitFor();
});

tried("what runs without a question says why", async ({ frame }) => {
  provider.say({ code: "echo by a rule", language: "shell" }, { text: "It is said." });
  await panel.send("Say it.");
  await panel.said.getByText("It is said.").waitFor();
  const block = frame.locator(".block").last();
  await block.locator(".output", { hasText: "by a rule" }).waitFor();
  await block.locator(".note.unasked", { hasText: "policy.allow: echo" }).waitFor();
});

tried("what the sandbox stopped is allowed at the block", async ({ frame }) => {
  if (!SANDBOX) return;
  provider.say({ code: OUT }, { text: "There is no way out." });
  await panel.send("Look outside.");
  const block = await panel.approve();
  const allow = block.getByRole("button", { name: "Allow the network in this session" });
  await allow.waitFor();
  await block.locator(".denied", { hasText: "variables go" }).waitFor();
  await panel.rest();
  await panel.shot("denied");
  await allow.click();
  await frame.locator(".note", { hasText: "The sandbox of this session allows" }).waitFor();
  await allow.waitFor({ state: "detached" });
});

tried("a path that the sandbox kept it from is allowed, and the code works when it runs again", async ({ frame }) => {
  if (!SANDBOX) return;
  const folder = fs.mkdtempSync(path.join(HERE, "out", "elsewhere-"));
  after(() => fs.rmSync(folder, { recursive: true }));
  const code = `kept = globals().get("kept", 0) + 1\nopen(${JSON.stringify(folder)} + "/made.txt", "w").write("by the run")\nprint("run", kept)`;
  provider.say({ code }, { text: "It may not." });
  await panel.send("Write elsewhere.");
  const block = await panel.approve();
  await panel.said.getByText("It may not.").waitFor();
  await panel.rest();
  await block.getByRole("button", { name: "Allow writing to" }).click();
  await frame.locator(".note", { hasText: "variables are gone" }).last().waitFor();
  await panel.rest();
  await block.getByRole("button", { name: "Run again" }).click();
  const again = frame.locator(".block").last();
  await again.locator(".output", { hasText: "run 1" }).waitFor();
  await panel.rest();
  assert.equal(fs.readFileSync(path.join(folder, "made.txt"), "utf8"), "by the run");
  assert.equal(await frame.getByRole("button", { name: "Allow writing to" }).count(), 0);
});

tried("another model is chosen, and a new chat begins", async ({ page, frame }) => {
  await frame.getByRole("button", { name: "openai/gpt-4o" }).click();
  await page.locator(".quick-input-widget input").first().fill("tour");
  await page.locator(".quick-input-list [role=option]", { hasText: "a script that shows" }).first().click();
  await frame.locator(".model", { hasText: /^tour$/ }).waitFor();
  await panel.command("Open Interpreter: New Chat");
  await frame.locator(".welcome").waitFor();
  assert.equal(await frame.locator(".message").count(), 0);
});

tried("the doctor says what there is", async ({ page }) => {
  await panel.command("Open Interpreter: Doctor");
  await page.locator(".editor-instance .monaco-editor", { hasText: "/bin/python" }).waitFor();
});

tried("it is active at once", async ({ frame }) => {
  await frame.locator(".welcome").waitFor();
  const took = Number(/Activated in (\d+) ms/.exec(panel.log)?.[1]);
  console.log(`activated in ${took} ms`);
  assert.ok(took < 50, `it took ${took} ms`);
});
