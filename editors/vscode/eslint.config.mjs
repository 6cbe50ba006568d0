import js from "@eslint/js";
import { defineConfig, globalIgnores } from "eslint/config";
import tseslint from "typescript-eslint";

export default defineConfig(
  globalIgnores(["dist/", "out/", "src/protocol.ts"]),
  js.configs.recommended,
  tseslint.configs.strictTypeChecked,
  {
    languageOptions: {
      parserOptions: { projectService: { allowDefaultProject: ["*.mjs"] } },
      globals: { process: "readonly", console: "readonly", URL: "readonly" },
    },
    rules: {
      "no-restricted-properties": [
        "error",
        { property: "innerHTML", message: "Build nodes: text of a model or a program is never read as HTML." },
        { property: "outerHTML", message: "Build nodes: text of a model or a program is never read as HTML." },
        { property: "insertAdjacentHTML", message: "Build nodes." },
      ],
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      "@typescript-eslint/no-floating-promises": ["error", { ignoreVoid: true }],
      // Disposables are an interface of VS Code's.
      "@typescript-eslint/no-unsafe-class-instance-assignment": "off",
      "max-lines": ["error", { max: 500 }],
      "max-lines-per-function": ["error", { max: 70 }],
      complexity: ["error", 15],
    },
  },
  {
    files: ["test/**"],
    rules: { "max-lines-per-function": "off", "@typescript-eslint/no-floating-promises": "off" },
  },
);
