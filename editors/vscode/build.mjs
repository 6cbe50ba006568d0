// Bundles the extension and its panel into dist/. With --watch it goes on.
import * as esbuild from "esbuild";

const watch = process.argv.includes("--watch");
const common = { bundle: true, minify: !watch, sourcemap: watch ? "linked" : false, logLevel: "warning" };

const builds = [
  {
    ...common,
    entryPoints: { extension: "src/extension.ts" },
    outdir: "dist",
    outExtension: { ".js": ".cjs" },
    platform: "node",
    target: "node22",
    format: "cjs",
    external: ["vscode"],
    // The other form of jsonc-parser cannot be bundled.
    mainFields: ["module", "main"],
  },
  {
    ...common,
    entryPoints: { panel: "src/panel/main.ts", style: "src/panel/style.css" },
    outdir: "dist",
    platform: "browser",
    target: "chrome132",
    format: "iife",
  },
];

for (const options of builds) {
  if (watch) await (await esbuild.context(options)).watch();
  else await esbuild.build(options);
}
