// The panel in a real workbench, as a person has it before them.
import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { after, test } from "node:test";
import { chromium, type Browser, type FrameLocator, type Locator, type Page } from "playwright-core";
import { HERE, Workbench, writeAll, type Options } from "./workbench.ts";

export const CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((program) =>
  fs.existsSync(program),
);
export const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
];
const FAILURES = path.join(HERE, "out", "failures");
/** The first webview of a fresh profile takes seconds, and this machine may be busy. */
const FIRST_TIME = 60_000;
export const TIME = 30_000;
const FOCUS = "Open Interpreter: Focus the Chat";

export interface Wanted extends Partial<Options> {
  /** Files of the workspace, by path. */
  files?: Record<string, string>;
  /** Called before anything is looked at. */
  prepare?: (page: Page) => Promise<void>;
  /** Whether to wait until the server is there (the default). */
  waits?: boolean;
  /** The command that shows the panel for the first time. */
  first?: string;
}

export class Panel {
  readonly page: Page;
  readonly workbench: Workbench;
  readonly home: string;
  /** Every address that anything in the browser asked for. */
  readonly requests: string[] = [];
  private readonly browser: Browser;

  private constructor(browser: Browser, page: Page, workbench: Workbench, home: string) {
    this.browser = browser;
    this.page = page;
    this.workbench = workbench;
    this.home = home;
    page.on("request", (request) => this.requests.push(request.url()));
  }

  /** The panel, shown; it is closed after the tests of this file. */
  static async open({ files = {}, prepare, waits = true, first = FOCUS, ...options }: Wanted = {}): Promise<Panel> {
    const home = fs.mkdtempSync(path.join(os.tmpdir(), "oi-vscode-"));
    const workbench = await Workbench.start({ home, ...options });
    writeAll(workbench.workspace, files);
    const browser = await chromium.launch({ executablePath: CHROMIUM ?? "", args: FLAGS });
    const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
    page.setDefaultTimeout(TIME);
    const panel = new Panel(browser, page, workbench, home);
    after(() => panel.close());
    await prepare?.(page);
    await page.goto(workbench.url);
    await panel.show(waits, first);
    return panel;
  }

  /** The page inside the webview. */
  get frame(): FrameLocator {
    return this.page
      .frameLocator('iframe.webview.ready[src*="extensionId=oi-lsp.oi-lsp"]')
      .frameLocator("iframe#active-frame");
  }

  get field(): Locator {
    return this.frame.getByRole("textbox", { name: "Message" });
  }

  /** The code that waits for a decision. */
  get proposed(): Locator {
    return this.frame.locator('.block[data-stage="proposed"]');
  }

  get blocks(): Locator {
    return this.frame.locator(".block");
  }

  /** Have the panel in front, with a session. */
  async show(waits = true, command = FOCUS): Promise<void> {
    await this.page.locator(".monaco-workbench").waitFor({ timeout: FIRST_TIME });
    await this.command(command);
    await this.field.waitFor({ timeout: FIRST_TIME });
    if (waits) await this.frame.locator(".model:not([hidden])").waitFor({ timeout: FIRST_TIME });
  }

  /** Run a command by its name, as the palette lists it. */
  async command(name: string): Promise<void> {
    await this.pick("F1", `>${name}`, name);
  }

  /** Open a list by a key, and take what it has for some words. */
  async pick(key: string, words: string, name: string): Promise<void> {
    const input = this.page.locator(".quick-input-widget input").first();
    const option = this.page.locator(".quick-input-list [role=option]", { hasText: name }).first();
    // What it lists may come late, and it closes where something else takes the focus meanwhile.
    for (const until = Date.now() + FIRST_TIME; ;) {
      await this.page.keyboard.press(key);
      try {
        await input.fill(words, { timeout: 2000 });
        await option.click({ timeout: 2000 });
        return;
      } catch (error) {
        if (Date.now() > until) throw error;
        await this.page.keyboard.press("Escape");
      }
    }
  }

  async send(text: string): Promise<void> {
    await this.field.fill(text);
    await this.field.press("Enter");
  }

  /** Wait for code, and run it as it stands or with a text of one's own. Answers the block. */
  async approve(code?: string): Promise<Locator> {
    await this.proposed.waitFor();
    const id = await this.proposed.getAttribute("data-id");
    if (code !== undefined) await this.edit(code);
    await this.proposed.getByRole("button", { name: "Run", exact: true }).click();
    const block = this.frame.locator(`.block[data-id="${id}"]`);
    await this.frame.locator(`.block[data-id="${id}"]:not([data-stage="proposed"])`).waitFor();
    return block;
  }

  /** Replace the code that waits. */
  async edit(code: string): Promise<void> {
    const editor = this.proposed.locator(".cm-content");
    await editor.click();
    await this.page.keyboard.press("ControlOrMeta+a");
    await this.page.keyboard.press("Delete");
    await this.page.keyboard.insertText(code);
  }

  /** Wait until nothing goes on. */
  async rest(): Promise<void> {
    await this.frame.locator("#composer button[type=submit]:enabled", { hasText: "Send" }).waitFor();
  }

  /** Have VS Code in another theme. */
  async theme(name: string): Promise<void> {
    await this.command("Preferences: Color Theme");
    const input = this.page.locator(".quick-input-widget input").first();
    await input.fill(name);
    await this.page.locator(".quick-input-list [role=option]", { hasText: name }).first().click();
    const kind = name.includes("High Contrast") ? /hc-/ : name.includes("Dark") ? /vs-dark/ : /\bvs\b/;
    await until(
      async () => kind.test((await this.page.locator(".monaco-workbench").getAttribute("class")) ?? ""),
      name,
    );
  }

  /** Have its page so many pixels wide: the side bar that it is in first cannot be narrower than 270, others can. */
  async resize(width: number): Promise<void> {
    await this.field.evaluate((_, pixels) => (document.body.style.width = `${pixels}px`), width);
  }

  /** What the last answer of the model says. */
  get said(): Locator {
    return this.frame.locator(".message.assistant").last();
  }

  /** The extension's own log. */
  get log(): string {
    const folder = path.join(this.workbench.data, "logs");
    const names = fs.readdirSync(folder, { recursive: true, encoding: "utf8" });
    const own = names.filter((name) => name.endsWith("Open Interpreter.log"));
    return own.map((name) => fs.readFileSync(path.join(folder, name), "utf8")).join("");
  }

  async shot(name: string): Promise<void> {
    fs.mkdirSync(path.join(HERE, "out"), { recursive: true });
    await this.page.screenshot({ path: path.join(HERE, "out", `${name}.png`) });
  }

  /** Keep what tells why a test failed. */
  async keep(name: string): Promise<void> {
    const folder = path.join(FAILURES, name.replace(/\W+/g, "-"));
    fs.mkdirSync(folder, { recursive: true });
    await this.page.screenshot({ path: path.join(folder, "page.png") }).catch(() => undefined);
    fs.cpSync(path.join(this.workbench.data, "logs"), path.join(folder, "logs"), { recursive: true });
    fs.cpSync(path.join(this.home, "log"), path.join(folder, "workbench.log"));
  }

  /** The processes of the server, which are told by their environment. */
  servers(): number[] {
    const pids = fs.readdirSync("/proc").filter((name) => /^\d+$/.test(name));
    const isOurs = (pid: string) =>
      fileOf(pid, "cmdline").includes("--stdio") && fileOf(pid, "environ").includes(this.home);
    return pids.filter(isOurs).map(Number);
  }

  private async close(): Promise<void> {
    await this.browser.close();
    await this.workbench.stop();
    // The server ends by itself, and writes until then.
    await until(() => this.servers().length === 0, "the server is gone with the workbench");
    fs.rmSync(this.home, { recursive: true, force: true, maxRetries: 5 });
  }
}

function fileOf(pid: string, name: string): string {
  try {
    return fs.readFileSync(`/proc/${pid}/${name}`, "utf8");
  } catch {
    return ""; // it has gone meanwhile
  }
}

/** A test of one panel, which keeps what there was to see where it fails. */
export function seen(
  name: string,
  panel: Panel,
  body: (panel: Panel) => Promise<void>,
  timeout = 3 * FIRST_TIME,
): void {
  test(name, { timeout }, async () => {
    try {
      await body(panel);
    } catch (error) {
      await panel.keep(name);
      throw error;
    }
  });
}

/** Wait until a condition holds. */
export async function until(condition: () => Promise<boolean> | boolean, what: string, time = TIME): Promise<void> {
  for (const end = Date.now() + time; !(await condition());) {
    assert.ok(Date.now() < end, `It did not come about: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
