// Programs that are run to their end.
import { execFile } from "node:child_process";

/** What a program wrote; an error with the last lines of what it wrote where it failed. */
export async function run(
  program: string,
  args: string[],
  options: { timeout: number; signal?: AbortSignal; cwd?: string },
): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(program, args, { ...options, maxBuffer: 64 << 20, windowsHide: true }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else {
        const words = `${stdout}\n${stderr}`.trim().split("\n").slice(-12).join("\n");
        reject(new Error(`${program}: ${words || error.message}`));
      }
    });
  });
}
