// `make vscode`: the workbench with the extension in it, to be tried in a browser. Ctrl-C ends it.
//   node test/open.ts [FOLDER]      what is written is kept in FOLDER (default: out/workbench)
import * as path from "node:path";
import { HERE, missing, Workbench } from "./workbench.ts";

const why = missing();
if (why !== undefined) {
  console.error(`There is no workbench here: ${why}`);
  process.exit(1);
}
const home = path.resolve(process.argv[2] ?? path.join(HERE, "out", "workbench"));
const port = Number(process.env["PORT"] ?? 0) || 8123;
const env = Object.fromEntries(
  Object.entries(process.env).filter((entry): entry is [string, string] => /_API_KEY$/.test(entry[0])),
);
// The folder may lie in a checkout, which is not what is tried.
const user = { "git.openRepositoryInParentFolders": "never" };
const workbench = await Workbench.start({ home, port, env, user });
console.log(`VS Code with the extension: ${workbench.url}\nCtrl-C ends it.`);
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => void workbench.stop().then(() => process.exit(0)));
}
