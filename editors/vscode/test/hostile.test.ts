// What a model or a program writes is only ever shown: nothing of it runs in the panel, and nothing is fetched for it.
import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as http from "node:http";
import type { AddressInfo } from "node:net";
import * as path from "node:path";
import { after } from "node:test";
import { Panel, seen, until } from "./panel.ts";
import { Provider } from "./provider.ts";

/** Another machine, as the browser sees it: nobody may ask it for anything. */
let asked = 0;
const elsewhere = http.createServer((_, response) => {
  asked += 1;
  response.end();
});
await new Promise<void>((resolve) => elsewhere.listen(0, "127.0.0.1", resolve));
after(() => elsewhere.close());
const ELSEWHERE = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}`;
const MARKDOWN = `<script>window.harmed = 1</script><img src=x onerror="window.harmed = 1">
![a picture](${ELSEWHERE}/seen.png) [a link](javascript:window.harmed=1) [data](data:text/html,<script>1</script>)
[out](http://192.0.2.1/out) <b onclick="window.harmed=1">bold</b> left\u202Eright \u001b[31mred\u001b[0m

| <i>a</i> | b |
|---|---|
| 1 | <iframe src="${ELSEWHERE}/frame"></iframe> |
`;
const PAGE = `<script>parent.harmed = 1; fetch("${ELSEWHERE}/script")</script>
<img src="${ELSEWHERE}/picture.png" onerror="parent.harmed=1"><style>@import url(${ELSEWHERE}/style.css);
body { background: url(${ELSEWHERE}/background.png) }</style><link rel="stylesheet" href="${ELSEWHERE}/link.css">
<meta http-equiv="refresh" content="0;url=${ELSEWHERE}/refresh"><form action="${ELSEWHERE}/form"><button>send</button></form>
<a href="${ELSEWHERE}/click">click</a><iframe src="${ELSEWHERE}/inner"></iframe><table><tr><td>a cell</td></tr></table>`;
/** As pandas shows a data frame, with what it never has. */
const TABLE = `<div>
<style scoped>.dataframe tbody tr th { vertical-align: top; } body { background: red }</style>
<table border="1" class="dataframe" onclick="window.harmed = 1">
  <thead><tr style="text-align: right;"><th></th><th colspan="2">whales \\u202e</th></tr></thead>
  <tbody>${Array.from({ length: 12 }, (_, at) => `<tr><th>${at}</th><td>${at * 1234.5}</td><td>some words of row ${at}</td></tr>`).join("\n")}</tbody>
</table>
<p>12 rows × 2 columns</p></div>`;
const CODE = `from IPython.display import HTML, display, Javascript
display(HTML('''${PAGE}'''))
display(HTML("""${TABLE}"""))
display(Javascript("window.harmed = 1"))
print("\\x1b]0;title\\x07\\x1b[2Jafter \\u202e<b>not bold</b>\\u200b<script>window.harmed=1</script>")
for i in range(101): print(f"{i:3}%", end="\\r")`;

const provider = await Provider.start({ text: MARKDOWN }, { text: "And code.", code: CODE }, { text: "Done." });
const panel = await Panel.open({ machine: provider.settings, env: Provider.environment });
const tried = (name: string, body: (panel: Panel) => Promise<void>) => seen(name, panel, body);

const harmed = () => panel.field.evaluate(() => (window as { harmed?: number }).harmed);

tried("Markdown of a model is text, and its links are dead or asked about", async ({ frame, page }) => {
  await panel.send("say something bad");
  await panel.said.getByText("right").waitFor();
  await panel.rest();
  const markdown = panel.said.locator(".markdown");
  assert.equal(await markdown.locator("script, img, iframe, b, i").count(), 0);
  assert.equal(await markdown.locator("a").count(), 1);
  assert.match((await markdown.textContent()) ?? "", /<script>window\.harmed = 1<\/script>/);
  assert.deepEqual(await markdown.locator(".invisible").allTextContents(), ["U+202E"]);
  await frame.getByRole("link", { name: "out" }).click();
  const dialog = page.locator(".monaco-dialog-box", { hasText: "192.0.2.1" });
  await dialog.waitFor();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  assert.equal(await harmed(), undefined);
});

tried("HTML that a program shows stays in its frame, without scripts", async ({ frame }) => {
  await panel.send("run something bad");
  const block = await panel.approve();
  const html = block.locator("iframe.html");
  await html.waitFor();
  await panel.rest();
  assert.equal(await html.getAttribute("sandbox"), "");
  const inside = html.contentFrame();
  await inside.getByText("a cell").waitFor();
  await inside.getByRole("link", { name: "click" }).click();
  await inside
    .getByRole("button", { name: "send" })
    .click({ timeout: 2000 })
    .catch(() => undefined);
  const table = block.getByRole("table");
  assert.equal(await table.getByRole("row").count(), 13);
  assert.equal(await table.getByRole("columnheader").last().getAttribute("colspan"), "2");
  assert.equal(await table.locator("xpath=//*[@onclick or @style]").count(), 0);
  assert.match((await table.textContent()) ?? "", /whales U\+202E/);
  const [inner, outer] = [await table.boundingBox(), await block.locator("div.html").boundingBox()];
  assert.ok(inner && outer && outer.height > 100 && outer.height < inner.height + 80, "it is as high as what it shows");
  await table.scrollIntoViewIfNeeded();
  await panel.shot("table");
  const output = block.locator("pre.output").last();
  assert.match((await output.textContent()) ?? "", /after U\+202E<b>not bold<\/b>U\+200B<script>/);
  assert.match((await output.textContent()) ?? "", /\n100%$/);
  assert.equal(await output.locator("b, script").count(), 0);
  assert.equal(await harmed(), undefined);
  assert.equal((await frame.locator(".block pre.code", { hasText: "window.harmed = 1" }).count()) > 0, true);
  await panel.shot("hostile");
});

tried("nothing left this machine", async ({ requests }) => {
  await panel.rest();
  // The addresses of webviews are VS Code's own: its service worker answers them, in the browser.
  const own =
    /^(https?:\/\/127\.0\.0\.1[:/]|(data|blob|about|vscode-webview|vscode-file):|https:\/\/[\w.+-]+\.vscode-cdn\.net\/)/;
  assert.deepEqual(
    requests.filter((url) => !own.test(url)),
    [],
  );
  assert.equal(asked, 0);
});

tried("no key is in a setting of the workspace, a log or the panel's state", async ({ home }) => {
  const files = fs.readdirSync(path.join(home, "data", "logs"), { recursive: true, encoding: "utf8" });
  for (const name of files.filter((each) => each.endsWith(".log"))) {
    assert.ok(!fs.readFileSync(path.join(home, "data", "logs", name), "utf8").includes("sk-of-a-test"), name);
  }
  await until(() => provider.requests.length === 3, "the model is told what came of it");
  assert.ok(!JSON.stringify(provider.requests).includes("sk-of-a-test"));
});
