// Which server is started, and with which Python its kernels run; keys; what is said where something is not as it should be.
import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { after } from "node:test";
import { Panel, seen, until } from "./panel.ts";
import { Provider } from "./provider.ts";
import { CHOOSE, environment, PYTHON_EXTENSION } from "./stand-in.ts";
import { TOP, writeAll } from "./workbench.ts";

const KEY = "sk-typed-by-hand-0123456789";
const CODE = "import os\nprint(kept + 1, [k for k in os.environ if k.endswith('_API_KEY')])";

/** The server, saying that it is of another version, or speaking another version of the protocol. */
const other = (change: string) => `#!${path.join(TOP, ".venv", "bin", "python")}
import oi_engine.version, oi_lsp.protocol
${change}
from oi_lsp.cli import main
if __name__ == "__main__":
    raise SystemExit(main())
`;
const folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "oi-setup-")));
after(() => fs.rmSync(folder, { recursive: true }));
const at = (...names: string[]) => path.join(folder, ...names);
writeAll(folder, {
  "older/oi-lsp": other('oi_engine.version.__version__ = "0.0.7"'),
  "newer/oi-lsp": other("oi_lsp.protocol.VERSION = 2"),
});
const pythons = [environment(at("first"), true), environment(at("second"), false)];

const provider = await Provider.start();
// All that goes over the wire is written to the log.
const panel = await Panel.open({
  machine: {
    ...provider.settingsWith({}, null),
    "oi-lsp.path": at("gone", "oi-lsp"),
    "oi-lsp.trace.server": "verbose",
  },
  env: { ...Provider.environment, TEST_PYTHONS: pythons.join(":") },
  extensions: PYTHON_EXTENSION,
  log: "trace",
  waits: false,
});
const tried = (name: string, body: (panel: Panel) => Promise<void>) => seen(name, panel, body);
const starts = () => (panel.log.match(/Starting \//g) ?? []).length;
const handed = () => (panel.log.match(/"command": "oi.keys.set"/g) ?? []).length;
const banner = (kind: string) => panel.frame.locator(`#banner[data-kind="${kind}"]`);

/** Run code that prints something, as the model's proposal. */
async function runs(code: string, printed: string): Promise<void> {
  provider.say({ code }, { text: `That was number ${provider.requests.length}.` });
  const words = `That was number ${provider.requests.length}.`;
  await panel.rest();
  await panel.send("go");
  const block = await panel.approve();
  await block.locator(".output", { hasText: printed }).waitFor();
  await panel.frame.getByText(words).waitFor();
}

/** Wait until that program was started as the server, for that reason, and answers. */
async function started(program: string, why: string): Promise<void> {
  await until(() => panel.log.includes(`Starting ${program} (${why})`), `${program} is started`);
  await panel.frame.locator("#banner").waitFor({ state: "hidden" });
  await panel.rest();
}

tried("a setting that names no program is said, with a way to the settings", async ({ page, frame, workbench }) => {
  await banner("failed")
    .getByText(`The setting oi-lsp.path names no program: ${at("gone", "oi-lsp")}`)
    .waitFor();
  await panel.shot("no-program");
  await frame.getByRole("button", { name: "Open the settings" }).click();
  await page.locator(".settings-editor").getByText("The program oi-lsp.").waitFor();
  await panel.shot("settings");
  await page.locator(".monaco-modal-editor-block .codicon-close").first().click();
  workbench.set({ "oi-lsp.path": "" });
  await started(at("first", "bin", "oi-lsp"), "the workspace's Python environment");
});

tried("kernels run in the Python that the Python extension has chosen", async () => {
  const code = "import sys\nprint('in', sys.prefix)";
  await runs(code, `in ${at("first")}`);
  await panel.command(CHOOSE);
  await panel.command("Open Interpreter: Restart the Kernel");
  await runs(code, `in ${at("second")}`);
});

tried("where that Python has no server, the workspace's folder has one", async ({ workbench }) => {
  environment(path.join(workbench.workspace, ".venv"), true);
  await panel.command("Open Interpreter: Restart the Server");
  await started(path.join(workbench.workspace, ".venv", "bin", "oi-lsp"), "the workspace's Python environment");
});

tried("a server of another version is told of, and works", async ({ page, workbench }) => {
  workbench.set({ "oi-lsp.path": at("older", "oi-lsp") });
  await started(at("older", "oi-lsp"), "the setting oi-lsp.path");
  await page.locator(".notification-toast", { hasText: "The server is oi-lsp 0.0.7, older than this" }).waitFor();
  await runs("kept = 41\nprint('kept')", "kept");
});

/** Ask, and see that it is answered. */
async function ask(question: string, text: string): Promise<void> {
  provider.say({ text });
  await panel.rest();
  await panel.send(question);
  await panel.frame.getByText(text).waitFor();
}

tried("a key that is typed reaches the provider, and kernels keep their variables", async ({ page }) => {
  const before = starts();
  await panel.command("Open Interpreter: Set a Provider's Key…");
  await page.locator(".quick-input-list [role=option]", { hasText: "OPENAI_API_KEY" }).first().click();
  const field = page.locator(".quick-input-widget input[type=password]");
  await field.fill(KEY);
  await field.press("Enter");
  await until(() => handed() === 1, "the server is handed the key");
  await page.locator(".notification-toast", { hasText: "OPENAI_API_KEY is kept" }).waitFor();
  assert.deepEqual([...new Set(provider.keys.splice(0))], ["Bearer none"]);
  await runs(CODE, "42 []");
  assert.equal(starts(), before);
  assert.deepEqual(provider.keys.splice(0), [`Bearer ${KEY}`, `Bearer ${KEY}`]);
});

tried("a server that is started later is handed it, until it is removed", async ({ page, workbench }) => {
  const before = starts();
  await panel.command("Open Interpreter: Restart the Server");
  await until(() => starts() > before && handed() === 2, "the next one is handed the key");
  await ask("And now?", "Paid for again.");
  await panel.command("Open Interpreter: Remove a Provider's Key…");
  await page.locator(".quick-input-list [role=option]", { hasText: "OPENAI_API_KEY" }).first().click();
  await until(() => handed() === 3, "the key is taken back");
  await ask("And at last?", "Nobody pays any more.");
  assert.deepEqual(provider.keys, [`Bearer ${KEY}`, "Bearer none"]);
  // It was written nowhere, though all that is sent is logged.
  assert.match(panel.log, /"key": "\[redacted\]"/);
  assert.ok(!JSON.stringify(provider.requests).includes(KEY));
  for (const folder of [workbench.data, path.join(panel.home, "xdg")]) {
    for (const name of fs.readdirSync(folder, { recursive: true, encoding: "utf8" })) {
      const file = path.join(folder, name);
      if (fs.statSync(file).isFile()) assert.ok(!fs.readFileSync(file).includes(KEY), name);
    }
  }
});

tried("a server that dies again is waited for a little longer", async () => {
  for (const seconds of [1, 2]) {
    const [pid] = panel.servers();
    assert.ok(pid !== undefined);
    process.kill(pid, "SIGKILL");
    await banner("crashed").getByText(`Starting it again in ${seconds} s.`).waitFor();
    await panel.frame.locator("#banner").waitFor({ state: "hidden" });
    await panel.rest();
  }
});

tried("a server that speaks another version of the protocol is told of", async ({ workbench }) => {
  workbench.set({ "oi-lsp.path": at("newer", "oi-lsp") });
  await banner("failed").getByText("speaks another version of the protocol than this extension").waitFor();
  await panel.shot("another-protocol");
});
