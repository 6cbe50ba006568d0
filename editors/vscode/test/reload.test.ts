// The window is reloaded and the server dies while something goes on: what was said is still there, and how it ended.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { Panel, seen, until } from "./panel.ts";
import { Provider } from "./provider.ts";

/** Whether programs can be shut in here. */
const SANDBOX = spawnSync("bwrap", ["--unshare-all", "--ro-bind", "/", "/", "true"]).status === 0;
/** Prints, shows HTML and a picture, writes a file, asks an address of nobody, and fails at its last line. */
const MUCH = `import base64, socket
from IPython.display import HTML, Image, display
print("some words")
display(HTML("<p>some <b>HTML</b></p>"))
display(Image(base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==")))
done = open("made.txt", "w").write("by the run\\n")
socket.create_connection(("192.0.2.1", 80))`;
/** Goes on until it is stopped. */
const COUNTS = `import time
print("begun")
for second in range(6000):
    time.sleep(0.1)
    print(second)`;

const provider = await Provider.start();
const panel = await Panel.open({
  machine: provider.settingsWith({ policy: { deny: ["rm"], allow: ["echo *"] }, sandbox: SANDBOX ? "strict" : "off" }),
  env: Provider.environment,
});
const tried = (name: string, body: (panel: Panel) => Promise<void>) => seen(name, panel, body);

/** The conversation as a screen reader has it, but for what is only for the end of it. */
async function read(): Promise<string> {
  const whole = await panel.frame.locator("#conversation").ariaSnapshot();
  return whole.replace("- alert:", "- note:").replace(/\n *- button "Continue"$/, "");
}

/** All that there was is shown again, as it was. */
async function isWhole(before: string): Promise<void> {
  await until(async () => (await read()).startsWith(before), "it is as before").catch(() => undefined);
  assert.equal((await read()).slice(0, before.length), before);
}

/** A conversation with everything that a panel can show once it is over. */
async function haveMuch(): Promise<void> {
  provider.say({ text: "*Look* at this.", code: "pass" }, { text: "It failed." });
  await panel.send("one");
  const block = await panel.approve(MUCH);
  await panel.said.getByText("It failed.").waitFor();
  await block.getByRole("region", { name: "Changed on disk" }).waitFor();
  if (SANDBOX) await block.getByRole("button", { name: "Allow the network in this session" }).waitFor();
  provider.say({ code: "echo by a rule", language: "shell" }, { code: "rm -rf made", language: "shell" });
  provider.say({ text: "As you like." }, { refuse: true });
  await panel.send("two");
  await panel.proposed.getByRole("button", { name: "Reject" }).click();
  await panel.said.getByText("As you like.").waitFor();
  await panel.rest();
  await panel.send("three");
  await panel.frame.locator(".message.error", { hasText: "did not accept the key" }).waitFor();
  await panel.rest();
}

let before = "";

tried("the panel is hidden in mid-stream, and shows it all when it comes back", async ({ frame, page }) => {
  // What is far from being seen is not drawn.
  await page.setViewportSize({ width: 1400, height: 4000 });
  await haveMuch();
  before = await read();
  provider.say({ text: "Words that never end ".repeat(20), hold: true });
  await frame.getByRole("button", { name: "Continue" }).click();
  await frame.getByText("Words that never end").waitFor();
  await panel.field.fill("not sent yet");
  await panel.command("View: Hide Secondary Side Bar");
  await panel.field.waitFor({ state: "hidden" });
  await panel.show();
  await frame.getByText("Words that never end").waitFor();
  await frame.getByRole("button", { name: "Stop" }).waitFor();
  assert.equal(await panel.field.inputValue(), "not sent yet");
  await isWhole(before);
});

tried("the window is reloaded in mid-stream", async ({ page, frame }) => {
  before = await read();
  assert.match(before, /(Words that never end ?){20}$/);
  await page.reload();
  await panel.show();
  await frame.locator(".message.error", { hasText: "Interrupted while the model answered" }).waitFor();
  await panel.rest();
  await isWhole(before);
  before = await read();
  assert.match((await frame.locator(".usage").textContent()) ?? "", /k ↑ .*↓ \$0\./);
  provider.say({ text: "Going on.", code: COUNTS });
  await frame.getByRole("button", { name: "Continue" }).click();
  await frame.getByText("Going on.").waitFor();
});

tried("the server is killed in mid-run, and comes back with the conversation", async ({ frame }) => {
  const block = await panel.approve();
  // What comes last is not yet in the history, and is lost with the process.
  await block.locator(".output", { hasText: "30" }).waitFor();
  const [pid] = panel.servers();
  assert.ok(pid !== undefined);
  process.kill(pid, "SIGKILL");
  await frame.locator('#banner[data-kind="crashed"]').waitFor();
  await panel.shot("crashed");
  await frame.locator(".message.error", { hasText: "Interrupted while code ran" }).waitFor();
  await panel.rest();
  await isWhole(before);
  await block.locator(".output", { hasText: "begun" }).waitFor();
  await block.locator(".note", { hasText: "Its variables are gone" }).waitFor();
  await panel.shot("interrupted");
  provider.say({ text: "I am back." });
  await panel.send("four");
  await frame.getByText("I am back.").waitFor();
  assert.equal(await frame.getByRole("button", { name: "Continue" }).count(), 0);
  assert.ok(!panel.servers().includes(pid));
});
