// Where programs are on each system, and what they say of themselves. Pure: each system's ways are tested on any.
import * as path from "node:path";

/** The oldest Python that the server runs on. */
const OLDEST = [3, 11] as const;
/** What Windows starts through a shell alone, and VS Code not at all. */
const SHELL_SCRIPT = /\.(cmd|bat|ps1)$/i;

export interface System {
  platform: NodeJS.Platform;
  path: path.PlatformPath;
}

const HERE = systemOf(process.platform);

/** A system by node's name for it. */
export function systemOf(platform: NodeJS.Platform): System {
  return { platform, path: platform === "win32" ? path.win32 : path.posix };
}

/** The path of a program in a Python environment. */
export function inEnvironment(environment: string, program: string, on: System = HERE): string {
  return on.platform === "win32"
    ? on.path.join(environment, "Scripts", `${program}.exe`)
    : on.path.join(environment, "bin", program);
}

/** The environment that an interpreter is of. Conda's on Windows, and Windows' own, lie at the top of it. */
export function environmentOf(python: string, on: System = HERE): string {
  const folder = on.path.dirname(python);
  const isAtTop = on.platform === "win32" && !/^(scripts|bin)$/i.test(on.path.basename(folder));
  return isAtTop ? folder : on.path.dirname(folder);
}

/** The files that a path which somebody typed may mean, the likeliest first. Throws where it can mean none. */
export function filesMeant(typed: string, home: string, on: System = HERE): string[] {
  const named = typed.replace(/^"(.*)"$/, "$1").replace(/^~(?=[\\/])/, () => home);
  if (!on.path.isAbsolute(named)) throw new Error(`must be the whole path of the program, not ${typed}`);
  if (on.platform !== "win32") return [named];
  if (SHELL_SCRIPT.test(named)) throw new Error(`names a script, which cannot be started; name oi-lsp.exe: ${typed}`);
  return [named, `${named}.exe`];
}

/** Commands that may be a Python, the likeliest first. */
export function pythonCommands(on: System = HERE): string[][] {
  const numbered = ["python3.14", "python3.13", "python3.12", "python3.11"];
  switch (on.platform) {
    case "win32":
      // The launcher knows what is installed; a bare python may be the one that opens the shop.
      return [["py", "-3"], ["python"], ["python3"]];
    case "darwin":
      // Last, as the system's own asks to install developer's tools where they are not there.
      return ["/opt/homebrew/bin/python3", "/usr/local/bin/python3", ...numbered, "python3"].map((each) => [each]);
    default:
      return ["python3", "python", ...numbered].map((each) => [each]);
  }
}

/** Has a Python say what `newEnough` reads. */
export const ASK_PYTHON = "import sys; print(sys.executable); print(*sys.version_info[:2])";

/** The interpreter by its own word, if the server runs on it. */
export function newEnough(said: string): string | undefined {
  const [executable, version = ""] = said.split(/\r?\n/);
  const [major = 0, minor = 0] = version.split(" ").map(Number);
  const isNew = major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1]);
  return executable && isNew ? executable : undefined;
}

/** What there is to say where server and extension are not of one version; undefined where they are. */
export function skew(server: string, extension: string): string | undefined {
  if (server === extension) return undefined;
  const parts = (version: string) => (version.match(/\d+/g) ?? []).map(Number);
  const [theirs, ours] = [parts(server), parts(extension)];
  const at = Array.from({ length: 3 }, (_, index) => (theirs[index] ?? 0) - (ours[index] ?? 0)).find((by) => by !== 0);
  const [how, which] =
    at === undefined ? ["not of", "other"] : at < 0 ? ["older than", "server"] : ["newer than", "extension"];
  const than = at === undefined ? "the version of this extension" : "this extension";
  return `The server is oi-lsp ${server}, ${how} ${than}, which is ${extension}. They understand each other, but what the older one does not know is missing: bring the ${which} up to date.`;
}
