// A first chat, with no key and no model: the tour answers, and all else is real.
import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import { Panel, seen, until } from "./panel.ts";

const LINES = Array.from({ length: 12 }, (_, at) => `line ${at}`).join("\n");

const panel = await Panel.open({ files: { "kept.txt": LINES } });
const tried = (name: string, body: (panel: Panel) => Promise<void>) => seen(name, panel, body);

tried("a first run with no key shows how it works", async ({ frame, page }) => {
  await frame.locator(".model", { hasText: /^tour$/ }).waitFor();
  await frame.getByRole("button", { name: "Take the Tour" }).click();
  const block = await panel.approve();
  await block.locator(".output", { hasText: "Hello from" }).waitFor();
  await panel.rest();
  assert.equal(await page.locator(".notifications-toasts .notification-toast").count(), 0);
});

tried("a plot is seen, and code that was edited is what runs", async ({ frame }) => {
  await panel.send("plot a sine wave");
  await panel.approve();
  const plot =
    "import matplotlib.pyplot as plt\nplt.figure(figsize=(2, 2), facecolor='red')\nplt.plot([1, 2])\nplt.show()";
  const block = await panel.approve(plot);
  const picture = block.locator("figure img");
  await picture.waitFor();
  const red = await picture.evaluate(async (image: HTMLImageElement) => {
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = image.naturalWidth;
    canvas.height = image.naturalHeight;
    const drawn = canvas.getContext("2d");
    drawn?.drawImage(image, 0, 0);
    return [...(drawn?.getImageData(2, 2, 1, 1).data ?? [])];
  });
  assert.deepEqual(red, [255, 0, 0, 255]);
  await panel.rest();
  assert.match((await block.locator("pre.code").textContent()) ?? "", /facecolor='red'/);
  await block.getByRole("button", { name: "Diff" }).waitFor();
  assert.equal(await frame.locator(".stop:visible").count(), 0);
});

tried("code is compared with what was proposed, copied, and opened in an editor", async ({ frame, page }) => {
  const block = frame.locator(".block", { hasText: "facecolor='red'" });
  await block.getByRole("button", { name: "Diff" }).click();
  const compared = page.locator(".monaco-diff-editor", { hasText: "facecolor='red'" });
  await compared.filter({ hasText: "sin(" }).waitFor();
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await block.getByRole("button", { name: "Copy", exact: true }).click();
  const copied = () => page.evaluate(() => navigator.clipboard.readText());
  await until(async () => (await copied()).startsWith("import matplotlib.pyplot as plt\nplt.figure("), "it is copied");
  await block.getByRole("button", { name: "Open", exact: true }).click();
  await page.locator(".tab.active", { hasText: "import matplotlib.pyplot" }).waitFor();
  await page.locator(".statusbar-item", { hasText: "Python" }).waitFor();
});

tried("a program's question is answered in place", async () => {
  await panel.send("ask me something");
  const block = await panel.approve();
  const field = block.getByRole("textbox", { name: "What is your name?" });
  await field.fill("Ada");
  await field.press("Enter");
  await block.locator(".output", { hasText: "Nice to meet you, Ada!" }).waitFor();
  await panel.rest();
});

tried("what runs is stopped, and its line is shown until then", async ({ frame }) => {
  await panel.send("run something long");
  const block = await panel.approve();
  await block.locator(".output", { hasText: "still counting: 2" }).waitFor();
  await block.locator(".line.active").waitFor();
  await panel.send("and then this");
  await frame.locator(".queue li", { hasText: "and then this" }).waitFor();
  await frame.getByRole("button", { name: "Stop" }).click();
  await panel.rest();
  assert.equal(await block.locator(".line.active").count(), 0);
  assert.equal(await panel.field.inputValue(), "and then this");
});

tried("what was edited is still there when the panel comes back; code is declined, and the model is told", async () => {
  await panel.send("make a mistake");
  await panel.proposed.waitFor();
  await panel.edit("print('edited so far')");
  await panel.command("View: Hide Secondary Side Bar");
  await panel.field.waitFor({ state: "hidden" });
  await panel.show();
  await panel.proposed.locator(".cm-content", { hasText: "edited so far" }).waitFor();
  await panel.proposed.getByRole("button", { name: "Reject" }).click();
  await panel.rest();
  assert.equal(await panel.proposed.count(), 0);
});

tried("what a run changed on disk is compared and taken back, by hunk and whole", async ({ page, workbench }) => {
  const kept = path.join(workbench.workspace, "kept.txt");
  await panel.send("make a mistake");
  const block = await panel.approve(
    `open('made.txt', 'w').write('by the run\\n')
text = open('kept.txt').read()
done = open('kept.txt', 'w').write(text.replace('line 1\\n', 'other 1\\n').replace('line 9', 'other 9'))`,
  );
  const changes = block.getByRole("region", { name: "Changed on disk" });
  const file = (name: string) => changes.getByRole("listitem").filter({ hasText: name });
  await file("made.txt").getByRole("button", { name: "Diff" }).click();
  await page.locator(".monaco-diff-editor", { hasText: "by the run" }).waitFor();
  if ((await panel.proposed.count()) > 0) await panel.proposed.getByRole("button", { name: "Reject" }).click();
  await panel.rest();
  await file("kept.txt").getByRole("button", { name: "Hunks" }).click();
  await file("kept.txt").locator(".hunk", { hasText: "other 1" }).waitFor();
  const [removed, added] = await file("kept.txt").locator(".hunk").first().locator(".line").all();
  const places = [await removed?.boundingBox(), await added?.boundingBox()];
  assert.equal(places[0]?.x, places[1]?.x, "one line stands below the other");
  await panel.shot("changes");
  await file("kept.txt").getByRole("button", { name: "Revert the lines from 10 on" }).click();
  await changes.getByText("Taken back: kept.txt.").waitFor();
  assert.equal(fs.readFileSync(kept, "utf8"), LINES.replace("line 1\n", "other 1\n"));
  await changes.getByRole("button", { name: "Revert made.txt" }).click();
  await changes.getByText("Taken back: made.txt.").waitFor();
  assert.ok(!fs.existsSync(path.join(workbench.workspace, "made.txt")));
});

tried("a message is taken back with what its code wrote", async ({ frame, page, workbench }) => {
  const written = path.join(workbench.workspace, "written.txt");
  await panel.send("make a mistake, but another");
  const block = await panel.approve("done = open('written.txt', 'w').write('something')");
  await block.getByRole("region", { name: "Changed on disk" }).waitFor();
  await panel.rest();
  assert.ok(fs.existsSync(written));
  const message = frame.locator(".message.user", { hasText: "but another" });
  await message.hover();
  await panel.shot("undo");
  await message.getByRole("button", { name: "Undo" }).click();
  await page.locator(".monaco-dialog-box").getByRole("button", { name: "Take Back, with the Files" }).click();
  await message.waitFor({ state: "detached" });
  await until(() => !fs.existsSync(written), "the file is gone");
});

tried("an earlier message is edited, and the chat goes on from there", async ({ frame }) => {
  const messages = frame.locator(".message.user");
  const before = await messages.count();
  const second = messages.nth(1);
  await second.hover();
  await second.getByRole("button", { name: "Edit" }).click();
  await until(async () => (await panel.field.inputValue()) === "plot a sine wave", "the message is edited");
  await until(async () => (await messages.count()) === 1, "what came after it is taken back");
  assert.ok(before > 2);
});
