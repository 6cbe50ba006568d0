// Runs the tests in this folder on node's runner, one file after the other: each has a workbench of its own, and two at
// a time on two cores take the focus late.
//   node test/run.ts [NAMES]      the files whose names have one of these in them; none: all
import { spawnSync } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import { CHROMIUM } from "./panel.ts";
import { missing } from "./workbench.ts";

const here = import.meta.dirname;
const why = missing() ?? (CHROMIUM === undefined ? "there is no Chromium: apt-get install chromium" : undefined);
if (why !== undefined) {
  console.log(`vscode: skipped: ${why}`);
  process.exit(process.env["CI"] === "true" ? 1 : 0);
}
const wanted = process.argv.slice(2);
const files = fs.readdirSync(here).filter((name) => name.endsWith(".test.ts"));
const chosen = files.filter((name) => wanted.length === 0 || wanted.some((part) => name.includes(part)));
fs.rmSync(path.join(here, "..", "out", "failures"), { recursive: true, force: true });
const args = ["--test", "--test-concurrency=1", ...chosen.map((name) => path.join(here, name))];
process.exit(spawnSync(process.execPath, args, { stdio: "inherit" }).status ?? 1);
