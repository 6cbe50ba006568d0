// Makes out/oi-lsp.vsix: the extension, and the server's wheel with the versions that it is installed with.
//   node package.mjs PYTHON      PYTHON has pip and builds the wheel
import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";

const here = import.meta.dirname;
const top = path.join(here, "..", "..");
const python = process.argv[2] ?? "python3";
const bundled = path.join(here, "dist", "server");
const LARGEST = 1_500_000;

/** @param {string} program @param {string[]} args @param {string} [cwd] */
function run(program, args, cwd) {
  execFileSync(program, args, { cwd, stdio: ["ignore", "ignore", "inherit"] });
}

fs.rmSync(path.join(here, "dist"), { recursive: true, force: true });
run(process.execPath, ["build.mjs"], here);
fs.mkdirSync(bundled, { recursive: true });
run(python, ["-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", bundled, top]);
fs.copyFileSync(path.join(top, "locks", "run.txt"), path.join(bundled, "requirements.txt"));
fs.copyFileSync(path.join(top, "LICENSE"), path.join(here, "LICENSE"));
fs.mkdirSync(path.join(here, "out"), { recursive: true });
const vsix = path.join(here, "out", "oi-lsp.vsix");
const vsce = path.join(here, "node_modules", "@vscode", "vsce", "vsce");
run(
  process.execPath,
  [vsce, "package", "--no-dependencies", "--skip-license", "--allow-missing-repository", "--out", vsix],
  here,
);
const { size } = fs.statSync(vsix);
console.log(`vsix: ${path.relative(top, vsix)}, ${Math.round(size / 1000)} kB`);
if (size > LARGEST) throw new Error(`The vsix has ${size} bytes; it may have ${LARGEST}.`);
