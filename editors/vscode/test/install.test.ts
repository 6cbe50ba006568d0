// The server that the extension installs and brings up to date: asked about, made from the wheel that came along, and used.
// The one that a workspace has is left alone while the workspace is not trusted.
import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import type { Locator } from "playwright-core";
import { Panel, seen, TIME, until } from "./panel.ts";
import { environment } from "./stand-in.ts";

/** Packages are downloaded, or come from pip's cache. */
const INSTALL_TIME = 480_000;
const kept = Object.entries(process.env).filter(([name]) => /^(PIP_|SSL_CERT_|REQUESTS_CA_|.*_proxy$)/i.test(name));
const cache = process.env["PIP_CACHE_DIR"] ?? path.join(process.env["HOME"] ?? "", ".cache", "pip");

const HARM = `#!/bin/sh\ntouch "$(dirname "$0")/../../harmed"\nexec sleep 60\n`;

const panel = await Panel.open({
  trust: true,
  user: { "security.workspace.trust.startupPrompt": "never", "security.workspace.trust.banner": "never" },
  files: { ".venv/bin/oi-lsp": HARM, ".venv/bin/python": HARM },
  machine: { "oi-lsp.path": "", "oi-lsp.model": "tour" },
  env: { ...(Object.fromEntries(kept) as Record<string, string>), PIP_CACHE_DIR: cache },
  waits: false,
});

const tried = (name: string, body: (panel: Panel) => Promise<void>) => seen(name, panel, body, INSTALL_TIME + 4 * TIME);
const own = path.join(panel.workbench.data, "User", "globalStorage", "oi-lsp.oi-lsp", "server");
/** What an earlier version of the extension has made. */
const old = path.join(own, "of-an-earlier-version");

/** A notice of VS Code's. It pops up, but one that comes right after another was closed may only be listed. */
async function notice(words: string): Promise<Locator> {
  const found = panel.page.locator(".notification-list-item", { hasText: words }).first();
  for (const end = Date.now() + TIME; ;) {
    try {
      await found.waitFor({ timeout: 3000 });
      return found;
    } catch (error) {
      if (Date.now() > end) throw error;
      await panel.command("Notifications: Show Notifications");
    }
  }
}

async function decline(words: string): Promise<void> {
  const offer = await notice(words);
  await offer.hover();
  await offer.locator(".codicon-notifications-clear").click();
  await offer.waitFor({ state: "hidden" });
}

tried("nothing is installed where one does not say so, and one is asked again", async ({ frame }) => {
  await (await notice("needs its server")).getByRole("button", { name: "Install" }).waitFor();
  await decline("needs its server");
  await frame.locator("#banner", { hasText: "The server is not installed." }).waitFor();
  assert.ok(!fs.existsSync(own));
  await frame.getByRole("button", { name: "Start again" }).click();
  await decline("needs its server");
  await frame.locator("#banner", { hasText: "The server is not installed." }).waitFor();
});

tried("where an update is declined, the server that is there goes on", async ({ frame }) => {
  environment(old, true);
  fs.writeFileSync(path.join(old, ".made-of"), "oi_lsp-0.0.1-py3-none-any.whl");
  await frame.getByRole("button", { name: "Start again" }).click();
  await (await notice("is of another version")).getByRole("button", { name: "Update" }).waitFor();
  await decline("is of another version");
  await frame.locator(".model", { hasText: /^tour$/ }).waitFor();
  assert.ok(panel.log.includes(`Starting ${old}/bin/oi-lsp (the extension's own environment)`));
});

tried("it is brought up to date when one says so, with progress", async ({ frame, workbench }) => {
  await panel.command("Open Interpreter: Restart the Server");
  await (await notice("is of another version")).getByRole("button", { name: "Update" }).click();
  await notice("installing what the server needs");
  await panel.shot("install");
  const starts = () => [...panel.log.matchAll(/Starting (\S+)\/bin\/oi-lsp/g)].map(([, folder = ""]) => folder);
  await until(() => starts().length === 2, "the new one is started", INSTALL_TIME);
  const [, made = ""] = starts();
  assert.equal(path.dirname(made), own);
  assert.deepEqual(fs.readdirSync(own).sort(), [path.basename(made), path.basename(old)].sort());
  assert.match(fs.readFileSync(path.join(made, ".made-of"), "utf8"), /^oi_lsp-.*\.whl$/);
  await frame.locator(".model", { hasText: /^tour$/ }).waitFor();
  await panel.rest();
  await panel.send("make a mistake");
  await panel.proposed.waitFor();
  assert.deepEqual(fs.readdirSync(workbench.workspace), [".venv"], "no program of the workspace was started");
});
