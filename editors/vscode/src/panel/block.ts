// A block of code: proposed, edited, decided on, run; with what came of it below.
import type { EditorView } from "@codemirror/view";
import { act, type App, type Row } from "./app.js";
import { command, deed, keep, kept } from "./bridge.js";
import type { Item } from "./conversation.js";
import { button, h, shown } from "./dom.js";
import { codeEditor, codeOf } from "./editor.js";
import { codeElement } from "./highlight.js";
import { Results } from "./results.js";

type Stage = "written" | "proposed" | "running" | "over";
const STAGES: Record<Stage, string> = { written: "", proposed: "waits for you", running: "running", over: "" };

export class Block implements Row {
  readonly element: HTMLElement;
  private readonly stage = h("span", { class: "stage" });
  private readonly body = h("div", { class: "body" });
  private readonly findings = h("ul", { class: "findings", "aria-label": "Findings" });
  private readonly tools = h("div", { class: "tools", role: "toolbar", "aria-label": "This code" });
  private readonly decision = h("div", { class: "decision", role: "group", "aria-label": "Decide" });
  private readonly results: Results;
  private readonly compare: HTMLButtonElement;
  private readonly again: HTMLButtonElement;
  private readonly run: HTMLButtonElement;
  private readonly distrust: HTMLElement;
  private editor: EditorView | undefined;
  private editing = "";
  private drawn = "";
  private deciding = false;

  constructor(
    private readonly app: App,
    private readonly item: Item,
  ) {
    this.results = new Results(app);
    const language = item.format ?? "text";
    this.compare = button("Diff", () => this.showDifference(), {
      class: "quiet",
      title: "Compare with what was proposed",
    });
    this.again = button("Run again", () => this.runAgain(), { class: "quiet" });
    const open = button("Open", () => deed({ what: "openCode", language, code: this.code }), {
      class: "quiet",
      title: "Open in an editor",
    });
    const copy = button("Copy", () => deed({ what: "copy", text: this.code }), { class: "quiet" });
    this.tools.append(this.compare, this.again, open, copy);
    this.run = button("Run", () => this.approve(), {
      class: "primary run",
      title: "Run this code (Ctrl+Enter, ⌘Enter)",
    });
    this.distrust = h(
      "span",
      { class: "distrust" },
      "No code runs in a workspace that you do not trust. ",
      button("Manage trust", () => deed({ what: "run", command: "workbench.trust.manage" }), { class: "quiet" }),
    );
    this.decision.append(
      this.run,
      button("Reject", () => this.reject(), { class: "reject", title: "Do not run it; the model is told" }),
      button("Scan", () => this.scan(), { class: "quiet", title: "Look for what it would do, before you decide" }),
      this.always(),
      this.distrust,
    );
    this.element = h(
      "section",
      { class: "block", "aria-label": `${language} code`, "data-id": item.id },
      h("header", {}, h("span", { class: "language" }, language), this.stage, this.tools),
      this.body,
      this.findings,
      this.decision,
      this.results.element,
    );
  }

  /** What came of it: something new, or something more. */
  take(child: Item): void {
    this.results.take(child);
  }

  drop(child: Item): void {
    this.results.drop(child);
  }

  /** Put the cursor into the code that waits. */
  focus(): void {
    this.editor?.focus();
  }

  update(): void {
    const stage = this.stageNow();
    this.stage.textContent = STAGES[stage];
    this.element.dataset["stage"] = stage;
    if (stage === "proposed") this.showEditor();
    else this.showCode(stage);
    const proposal = stage === "proposed" ? this.app.state?.proposal : undefined;
    this.findings.replaceChildren(...(proposal?.findings ?? []).map((words) => h("li", {}, words)));
    shown(this.findings, (proposal?.findings ?? []).length > 0);
    shown(this.decision, stage === "proposed");
    shown(this.distrust, !this.app.trusted);
    this.run.disabled = !this.app.trusted || this.deciding;
    shown(this.compare, this.code !== this.item.text);
    shown(this.again, stage === "over" && this.item.role !== "computer");
    this.results.update();
    this.results.ask(stage === "running" ? this.app.state?.input : undefined);
  }

  /** Whether it is drawn though it is not in sight: it may ask for something. */
  get goesOn(): boolean {
    return this.stageNow() !== "over";
  }

  private stageNow(): Stage {
    const { state, conversation } = this.app;
    if (!this.item.done) return "written";
    const { proposal } = state ?? {};
    if (proposal !== undefined && conversation.proposed(proposal.id) === this.item) return "proposed";
    const isLast =
      conversation.items.findLast((item) => item.type === "code" && item.parent === undefined) === this.item;
    const runs = state?.state === "running" || state?.state === "awaiting_input" || state?.state === "stopping";
    return isLast && runs ? "running" : "over";
  }

  /** The code as it stands: being edited, as it was run, or as it was written. */
  private get code(): string {
    if (this.editor !== undefined) return codeOf(this.editor);
    return this.results.edited?.text ?? this.item.text;
  }

  private showEditor(): void {
    const proposal = this.app.state?.proposal;
    if (proposal === undefined || this.editing === proposal.id) return;
    this.closeEditor();
    this.editing = proposal.id;
    this.deciding = false;
    const { edited } = kept();
    const code = edited?.proposalId === proposal.id ? edited.code : proposal.code;
    this.editor = codeEditor(code, proposal.language, {
      run: () => this.approve(),
      leave: () => this.run.focus(),
      changed: () => {
        keep({ edited: { proposalId: proposal.id, code: this.code } });
        shown(this.compare, this.code !== this.item.text);
      },
    });
    this.body.replaceChildren(this.editor.dom);
    this.drawn = "";
  }

  private showCode(stage: Stage): void {
    if (this.editor !== undefined) this.closeEditor();
    const key = `${this.code}\0${this.item.done}`;
    if (this.drawn !== key) {
      this.drawn = key;
      this.body.replaceChildren(codeElement(this.code, this.item.format ?? ""));
    }
    const lines = this.body.getElementsByClassName("line");
    const active = stage === "running" ? this.item.line : undefined;
    for (const line of this.body.querySelectorAll(".active, .failed")) line.classList.remove("active", "failed");
    if (active !== undefined) lines[active - 1]?.classList.add("active");
    if (this.item.failedAt !== undefined) lines[this.item.failedAt - 1]?.classList.add("failed");
  }

  private closeEditor(): void {
    this.editor?.destroy();
    this.editor = undefined;
    this.editing = "";
  }

  private approve(always?: "session" | "here"): void {
    const proposal = this.app.state?.proposal;
    if (this.editor === undefined || proposal === undefined || !this.app.trusted || this.deciding) return;
    const code = codeOf(this.editor);
    const edited = code === proposal.code ? {} : { code };
    this.decide(() =>
      command("oi.code.approve", {
        sessionId: this.app.sessionId,
        proposalId: proposal.id,
        ...edited,
        ...(always === undefined ? {} : { always }),
      }),
    );
  }

  private reject(): void {
    const proposal = this.app.state?.proposal;
    if (proposal === undefined) return;
    this.decide(() => command("oi.code.reject", { sessionId: this.app.sessionId, proposalId: proposal.id }));
  }

  private decide(send: () => Promise<unknown>): void {
    this.deciding = true;
    act(this.app, () =>
      send().catch((error: unknown) => {
        this.deciding = false;
        this.update();
        throw error;
      }),
    );
  }

  private scan(): void {
    const proposal = this.app.state?.proposal;
    if (proposal === undefined) return;
    act(this.app, () => command("oi.code.scan", { sessionId: this.app.sessionId, proposalId: proposal.id }));
  }

  private runAgain(): void {
    const { sessionId } = this.app;
    act(this.app, () => command("oi.code.run", { sessionId, language: this.item.format ?? "python", code: this.code }));
  }

  private showDifference(): void {
    const language = this.item.format ?? "text";
    deed({ what: "compareCode", language, before: this.item.text, after: this.code });
  }

  private always(): HTMLElement {
    return h(
      "details",
      { class: "menu" },
      h("summary", {}, "Always"),
      button("Run, and do not ask about this code again in this chat", () => this.approve("session")),
      button("Run, and do not ask about this code again in this folder", () => this.approve("here")),
    );
  }
}
