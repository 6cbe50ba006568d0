// A workspace that is not trusted: one can chat, nothing of it is started, and no code runs until it is trusted.
import assert from "node:assert/strict";
import * as fs from "node:fs";
import { Panel, seen } from "./panel.ts";

const panel = await Panel.open({
  trust: true,
  machine: { "oi-lsp.model": "tour" },
  user: { "security.workspace.trust.startupPrompt": "never", "security.workspace.trust.banner": "never" },
  files: { ".vscode/settings.json": '{"oi-lsp.autoRun": true, "oi-lsp.path": "/bin/false"}' },
});
const tried = (name: string, body: (panel: Panel) => Promise<void>) => seen(name, panel, body);

tried("one can chat, and the code cannot be run", async ({ page, frame }) => {
  await panel.send("make a mistake");
  await panel.proposed.waitFor();
  assert.ok(await panel.proposed.getByRole("button", { name: "Run", exact: true }).isDisabled());
  await panel.proposed.locator(".cm-content").click();
  await page.keyboard.press("ControlOrMeta+Enter");
  await panel.send("%% touch harmed");
  await frame.getByText("run_code").first().waitFor();
  await panel.shot("untrusted");
  assert.deepEqual(fs.readdirSync(panel.workbench.workspace), [".vscode"]);
});

tried("once it is trusted the same code runs", async ({ page }) => {
  await panel.proposed.getByRole("button", { name: "Manage trust" }).click();
  await page.locator(".workspace-trust-editor").getByRole("button", { name: "Trust", exact: true }).first().click();
  await page.locator(".monaco-modal-editor-block .codicon-close").first().click();
  await page.locator(".monaco-modal-editor-block").waitFor({ state: "hidden" });
  // VS Code starts extensions anew then.
  await panel.show();
  await panel.rest();
  await panel.send("make a mistake");
  const block = await panel.approve("print('trusted')");
  await block.locator(".output", { hasText: "trusted" }).waitFor();
});
