// The server that the extension installs: asked about, made from the wheel that came along, and used. The one that a
// workspace has is left alone while the workspace is not trusted.
import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import { Panel, seen, TIME } from "./panel.ts";

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

async function installs({ page, frame, workbench }: Panel): Promise<void> {
  const own = path.join(workbench.data, "User", "globalStorage", "oi-lsp.oi-lsp", "server");
  const toast = page.locator(".notification-toast", { hasText: "needs its server" });
  await toast.waitFor();
  assert.ok(!fs.existsSync(own));
  await toast.getByRole("button", { name: "Install" }).click();
  await page.locator(".notification-toast", { hasText: "installing what the server needs" }).waitFor();
  await panel.shot("install");
  await frame.locator(".model", { hasText: /^tour$/ }).waitFor({ timeout: INSTALL_TIME });
  assert.ok(fs.existsSync(path.join(own, ".made-of")));
  await panel.send("make a mistake");
  await panel.proposed.waitFor();
  assert.deepEqual(fs.readdirSync(workbench.workspace), [".venv"], "no program of the workspace was started");
}

seen("the server is installed when one says so, and not before", panel, installs, INSTALL_TIME + 4 * TIME);
