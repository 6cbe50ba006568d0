// Formats the plugin's Lua as stylua.toml says; with --check it only tells which files are not.
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Config, IndentType, OutputVerification, formatCode } from "@johnnymorganz/stylua";

const plugin = dirname(dirname(fileURLToPath(import.meta.url)));
const settings = Object.fromEntries(
  [...readFileSync(join(plugin, "stylua.toml"), "utf8").matchAll(/^(\w+) = "?(\w+)"?$/gm)].map((line) => line.slice(1)),
);

// formatCode takes its configuration away from whoever called it.
function config() {
  const made = Config.new();
  made.indent_type = IndentType[settings.indent_type];
  made.indent_width = Number(settings.indent_width);
  made.column_width = Number(settings.column_width);
  return made;
}

const files = readdirSync(plugin, { recursive: true })
  .filter((name) => name.endsWith(".lua") && !name.startsWith("dev") && !name.endsWith("protocol.lua"))
  .map((name) => join(plugin, name));
const changed = files.filter((file) => {
  const text = readFileSync(file, "utf8");
  const formatted = formatCode(text, config(), undefined, OutputVerification.None);
  if (formatted !== text && !process.argv.includes("--check")) writeFileSync(file, formatted);
  return formatted !== text;
});
for (const file of changed) console.log(`stylua: ${file}`);
process.exitCode = process.argv.includes("--check") && changed.length > 0 ? 1 : 0;
