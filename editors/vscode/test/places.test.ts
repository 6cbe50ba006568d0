// Where programs are on each system, tried on none but this one: the paths of all are computed here.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import * as path from "node:path";
import { test } from "node:test";
import {
  ASK_PYTHON,
  environmentOf,
  filesMeant,
  inEnvironment,
  newEnough,
  pythonCommands,
  skew,
  systemOf,
} from "../src/server/places.ts";
import { TOP } from "./workbench.ts";

const [linux, mac, windows] = [systemOf("linux"), systemOf("darwin"), systemOf("win32")];

test("a program is found in an environment, and the environment by its Python", () => {
  assert.equal(inEnvironment("/w/.venv", "oi-lsp", linux), "/w/.venv/bin/oi-lsp");
  assert.equal(inEnvironment("/w/.venv", "oi-lsp", mac), "/w/.venv/bin/oi-lsp");
  assert.equal(inEnvironment("C:\\w\\.venv", "oi-lsp", windows), "C:\\w\\.venv\\Scripts\\oi-lsp.exe");
  assert.equal(environmentOf("/w/.venv/bin/python3.12", linux), "/w/.venv");
  assert.equal(environmentOf("C:\\w\\.venv\\Scripts\\python.exe", windows), "C:\\w\\.venv");
  assert.equal(environmentOf("c:/w/.venv/scripts/python.exe", windows), "c:/w/.venv");
  // Conda's, and the one that python.org installs.
  assert.equal(environmentOf("C:\\conda\\envs\\data\\python.exe", windows), "C:\\conda\\envs\\data");
  for (const on of [linux, mac, windows]) {
    const folder = on === windows ? "D:\\Ada Lovelace\\env" : "/home/Ada Lovelace/env";
    assert.equal(environmentOf(inEnvironment(folder, "python", on), on), folder);
  }
});

test("a path that was typed means the files that it may mean", () => {
  assert.deepEqual(filesMeant("/opt/oi/bin/oi-lsp", "/home/ada", linux), ["/opt/oi/bin/oi-lsp"]);
  assert.deepEqual(filesMeant("~/env/bin/oi-lsp", "/home/ada", mac), ["/home/ada/env/bin/oi-lsp"]);
  assert.deepEqual(filesMeant('"/a b/oi-lsp"', "/home/ada", linux), ["/a b/oi-lsp"]);
  assert.deepEqual(filesMeant("~\\env\\Scripts\\oi-lsp", "C:\\Users\\$&Ada", windows), [
    "C:\\Users\\$&Ada\\env\\Scripts\\oi-lsp",
    "C:\\Users\\$&Ada\\env\\Scripts\\oi-lsp.exe",
  ]);
  assert.deepEqual(filesMeant("c:/env/Scripts/oi-lsp.EXE", "", windows)[0], "c:/env/Scripts/oi-lsp.EXE");
  assert.throws(() => filesMeant("oi-lsp", "/home/ada", linux), /whole path.*not oi-lsp/);
  assert.throws(() => filesMeant(".venv\\Scripts\\oi-lsp.exe", "C:\\", windows), /whole path/);
  assert.throws(() => filesMeant("C:\\tools\\oi-lsp.CMD", "C:\\", windows), /name oi-lsp\.exe/);
});

test("a Python is asked for in each system's ways, and taken where it is new enough", () => {
  assert.deepEqual(pythonCommands(windows)[0], ["py", "-3"]);
  assert.equal(pythonCommands(mac).at(-1)?.[0], "python3");
  assert.ok(pythonCommands(linux).every((command) => command.length === 1));
  assert.equal(newEnough("C:\\Python312\\python.exe\r\n3 12\r\n"), "C:\\Python312\\python.exe");
  assert.equal(newEnough("/usr/bin/python3\n3 11\n"), "/usr/bin/python3");
  assert.equal(newEnough("/usr/bin/python3\n3 10\n"), undefined);
  assert.equal(newEnough("/usr/bin/python\n2 7\n"), undefined);
  assert.equal(newEnough("Python was not found; run without arguments to install\r\n"), undefined);
  assert.equal(newEnough(""), undefined);
  const python = path.join(TOP, ".venv", "bin", "python");
  const { stdout } = spawnSync(python, ["-I", "-c", ASK_PYTHON], { encoding: "utf8" });
  assert.equal(newEnough(stdout), python);
});

test("the older of server and extension is named", () => {
  assert.equal(skew("0.1.0", "0.1.0"), undefined);
  assert.match(skew("0.9.0", "0.10.0") ?? "", /0\.9\.0, older than this extension, which is 0\.10\.0.*the server up/);
  assert.match(skew("1.0.0", "0.10.0") ?? "", /newer than this extension.*bring the extension up/);
  assert.match(skew("0.1.0.dev1", "0.1.0") ?? "", /not of the version of this extension/);
  assert.match(skew("unknown", "0.1.0") ?? "", /older than/);
});
