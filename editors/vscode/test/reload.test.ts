// The window is reloaded and the server dies while something goes on: what was said is still there.
import assert from "node:assert/strict";
import { Panel, seen } from "./panel.ts";
import { Provider } from "./provider.ts";

const provider = await Provider.start(
  { text: "First words." },
  { text: "Words that never end ".repeat(20), hold: true },
);
const panel = await Panel.open({ machine: provider.settings, env: Provider.environment });
const tried = (name: string, body: (panel: Panel) => Promise<void>) => seen(name, panel, body);

tried("the panel is hidden in mid-stream, and shows it all when it comes back", async ({ frame }) => {
  await panel.send("one");
  await panel.said.getByText("First words.").waitFor();
  await panel.rest();
  await panel.send("two");
  await frame.getByText("Words that never end").waitFor();
  await panel.field.fill("not sent yet");
  await panel.command("View: Hide Secondary Side Bar");
  await panel.field.waitFor({ state: "hidden" });
  await panel.show();
  await frame.getByText("Words that never end").waitFor();
  await frame.getByRole("button", { name: "Stop" }).waitFor();
  assert.equal(await panel.field.inputValue(), "not sent yet");
});

tried("the window is reloaded in mid-stream", async ({ page, frame }) => {
  await page.reload();
  await panel.show();
  await frame.getByText("First words.").waitFor();
  await frame.locator(".message.user", { hasText: "two" }).waitFor();
  await panel.rest();
  provider.say({ text: "Going on.", code: "import time\nprint('begun')\ntime.sleep(600)" });
  await panel.send("three");
  await frame.getByText("Going on.").waitFor();
});

tried("the server is killed in mid-run, and comes back with the conversation", async ({ frame }) => {
  const block = await panel.approve();
  await block.locator(".output", { hasText: "begun" }).waitFor();
  const [pid] = panel.servers();
  assert.ok(pid !== undefined);
  process.kill(pid, "SIGKILL");
  await frame.locator('#banner[data-kind="crashed"]').waitFor();
  await panel.shot("crashed");
  await frame.getByText("Going on.").waitFor();
  await panel.rest();
  provider.say({ text: "I am back." });
  await panel.send("four");
  await frame.getByText("I am back.").waitFor();
  assert.ok(!panel.servers().includes(pid));
});
