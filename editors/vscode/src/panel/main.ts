// The panel: one conversation, the field to write in, and what the extension tells.
import type { HostCommand, Told, ToPanel } from "../messages.js";
import type { SessionOpenResult, SessionState } from "../protocol.js";
import type { Status } from "../server/server.js";
import { act, type App } from "./app.js";
import { command, deed, post, settled } from "./bridge.js";
import { Composer } from "./composer.js";
import { Conversation, type Item } from "./conversation.js";
import { button, h, shown } from "./dom.js";
import { Transcript } from "./transcript.js";

class Panel implements App {
  readonly conversation: Conversation;
  sessionId = "";
  state: SessionState | undefined;
  trusted = true;
  changeSets = Promise.resolve(new Set<string>());

  private readonly transcript: Transcript;
  private readonly composer: Composer;
  private readonly banner = h("div", { id: "banner", role: "status" });
  private readonly problem = h("div", { id: "problem", role: "alert", hidden: true });
  private readonly live = h("div", { id: "live", class: "unseen", "aria-live": "polite" });

  constructor() {
    this.conversation = new Conversation({
      added: (item) => {
        this.transcript.add(item);
        if (this.conversation.items.length === 1) this.composer.update();
      },
      changed: (item) => this.transcript.change(item),
      dropped: (item) => this.transcript.drop(item),
      missed: (afterSeq) => act(this, () => command("oi.session.replay", { sessionId: this.sessionId, afterSeq })),
      completed: () => this.announce("The answer is complete."),
    });
    this.transcript = new Transcript(this);
    this.composer = new Composer(this);
    document.body.append(
      h("main", {}, this.banner, this.transcript.element, this.problem, this.composer.element, this.live),
    );
    document.addEventListener("keydown", (event) => this.onKey(event));
    window.addEventListener("message", (event: MessageEvent<ToPanel>) => this.take(event.data));
  }

  announce(words: string): void {
    this.live.textContent = words;
  }

  complain(words: string): void {
    const close = button("Dismiss", () => shown(this.problem, false), { class: "quiet" });
    this.problem.replaceChildren(words, " ", close);
    shown(this.problem, true);
  }

  /** Take back what came since, and have the message where one writes; the kernels keep their variables. */
  rewrite(item: Item): void {
    act(this, async () => {
      await command("oi.session.undo", { sessionId: this.sessionId, messageId: item.id });
      this.composer.write(item.text);
    });
  }

  private take(message: ToPanel): void {
    if (settled(message)) return;
    switch (message.type) {
      case "session":
        this.show(message.opened);
        break;
      case "told":
        message.told.forEach((told) => this.hear(told));
        break;
      case "status":
        this.showStatus(message.status);
        break;
      case "trust":
        this.trusted = message.trusted;
        this.transcript.refresh();
        break;
      case "colours":
        for (const [name, colour] of Object.entries(message.colours)) {
          document.documentElement.style.setProperty(`--token-${name}`, colour);
        }
        break;
      case "chips":
        this.composer.attach(message.chips);
        break;
      case "write":
        this.composer.write(message.text);
        break;
      case "focus":
        this.composer.focus();
        break;
    }
  }

  private hear(told: Told): void {
    if (told.method === "oi/edit" || told.params.sessionId !== this.sessionId) return;
    if (told.method === "oi/chunks") this.conversation.take(told.params);
    else this.become(told.params);
  }

  private show(opened: SessionOpenResult): void {
    this.sessionId = opened.info.sessionId;
    this.state = opened.state;
    this.changeSets = command("oi.changes.list", { sessionId: this.sessionId }).then(
      ({ changes }) => new Set(changes.map(({ changeId }) => changeId)),
      () => new Set(), // What runs change is not followed here.
    );
    this.conversation.begin(opened.nextSeq);
    this.transcript.begin();
    this.become(opened.state);
  }

  private become(state: SessionState | undefined): void {
    const before = this.state;
    this.state = state;
    this.composer.update();
    this.transcript.refresh();
    if (state?.proposal !== undefined && state.proposal.id !== before?.proposal?.id) {
      const found = state.proposal.findings?.length ?? 0;
      const findings = found > 0 ? ` The scanner says: ${state.proposal.findings?.join("; ")}` : "";
      this.announce(`${state.proposal.language} code waits for you. Press Escape to go to it.${findings}`);
    }
    if (state?.state === "running" && before?.state !== "running") this.announce("The code runs.");
  }

  private showStatus(status: Status): void {
    const runs = (label: string, command: HostCommand) =>
      button(label, () => deed({ what: "run", command }), { class: "quiet" });
    const helps = [
      runs("Start again", "oi-lsp.restartServer"),
      runs("Open the settings", "oi-lsp.openSettings"),
      runs("Show the log", "oi-lsp.showLog"),
    ];
    const words = {
      off: "",
      ready: "",
      starting: "Starting the server…",
      missing: "words" in status ? status.words : "",
      crashed: status.kind === "crashed" ? `${status.words} Starting it again in ${status.seconds} s.` : "",
      failed: "words" in status ? status.words : "",
    }[status.kind];
    const isStuck = status.kind === "failed" || status.kind === "missing";
    this.banner.replaceChildren(words, ...(isStuck ? helps.flatMap((each) => [" ", each]) : []));
    this.banner.dataset["kind"] = status.kind;
    shown(this.banner, words !== "");
    if (status.kind !== "ready") this.become(undefined);
  }

  /** Escape goes from the field to the code that waits; where none does, it stops what goes on. */
  private onKey(event: KeyboardEvent): void {
    if (event.key !== "Escape" || event.defaultPrevented) return;
    const inField = event.target instanceof HTMLTextAreaElement;
    if (inField && this.transcript.focusProposal()) return;
    const works = this.state !== undefined && this.state.state !== "idle" && this.state.state !== "awaiting_approval";
    if (works) this.composer.stopAll();
    else if (!inField) this.composer.focus();
  }
}

new Panel();
post({ type: "ready" });
