// A key that is typed reaches the provider, and nothing else; a server of another version is told from this one.
import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { after } from "node:test";
import { Panel, seen, until } from "./panel.ts";
import { Provider } from "./provider.ts";
import { TOP } from "./workbench.ts";

const KEY = "sk-typed-by-hand-0123456789";
const CODE = "import os\nprint([k for k in os.environ if k.endswith('_API_KEY')], 'nothing' if 1 else '')";

/** The server, saying that it is of another version. */
const OTHER = `#!${path.join(TOP, ".venv", "bin", "python")}
import oi_engine.version
oi_engine.version.__version__ = "0.0.7"
from oi_lsp.cli import main
if __name__ == "__main__":
    raise SystemExit(main())
`;
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "oi-other-"));
after(() => fs.rmSync(folder, { recursive: true }));
const other = path.join(folder, "oi-lsp");
fs.writeFileSync(other, OTHER, { mode: 0o755 });

const provider = await Provider.start({ code: CODE }, { text: "Paid for." });
const panel = await Panel.open({
  machine: { ...provider.settingsWith({}, null), "oi-lsp.path": other },
  env: Provider.environment,
});

seen("a server of another version is told of, and works", panel, async ({ page }) => {
  await page.locator(".notification-toast", { hasText: "The server is oi-lsp 0.0.7" }).waitFor();
});

seen("a key that is typed reaches the provider, and nothing else", panel, async ({ page, frame, workbench }) => {
  await panel.command("Open Interpreter: Set a Provider's Key…");
  await page.locator(".quick-input-list [role=option]", { hasText: "OPENAI_API_KEY" }).first().click();
  const field = page.locator(".quick-input-widget input[type=password]");
  await field.fill(KEY);
  await field.press("Enter");
  await until(() => (panel.log.match(/Starting/g) ?? []).length === 2, "the server is started with the key");
  await panel.rest();
  await panel.send("Who pays?");
  const block = await panel.approve();
  await block.locator(".output", { hasText: "[] nothing" }).waitFor();
  await frame.getByText("Paid for.").waitFor();
  assert.deepEqual([...new Set(provider.keys)], [`Bearer ${KEY}`]);
  assert.ok(!JSON.stringify(provider.requests).includes(KEY));
  for (const folder of [workbench.data, path.join(panel.home, "xdg")]) {
    for (const name of fs.readdirSync(folder, { recursive: true, encoding: "utf8" })) {
      const file = path.join(folder, name);
      if (fs.statSync(file).isFile()) assert.ok(!fs.readFileSync(file).includes(KEY), name);
    }
  }
});
