// Where one writes: the text, what goes with it, what waits to be sent, and the row of buttons below.
import type { Chip } from "../messages.js";
import type { Attachment, ChatOffer } from "../protocol.js";
import { act, type App } from "./app.js";
import { command, deed, keep, kept } from "./bridge.js";
import { button, h, shown } from "./dom.js";
import { symbol } from "./results.js";

/** The largest picture that is pasted, in bytes. */
const LARGEST_PICTURE = 5_000_000;

export class Composer {
  readonly element: HTMLElement;
  private readonly field = h("textarea", {
    id: "message",
    rows: 1,
    placeholder: "Ask, or % for commands",
    "aria-label": "Message",
  });
  private readonly chipList = h("ul", { class: "chips", "aria-label": "Goes with the message" });
  private readonly queue = h("ul", { class: "queue", "aria-label": "Waiting to be sent" });
  private readonly suggestions = h("div", {
    class: "suggestions",
    role: "listbox",
    "aria-label": "Commands",
    hidden: true,
  });
  private readonly model = button("…", () => deed({ what: "run", command: "oi-lsp.chooseModel" }), {
    class: "quiet model",
    title: "The model that answers: choose another",
  });
  private readonly usage = h("span", { class: "usage", title: "Tokens read and written, and what they cost" });
  private readonly stop = button("Stop", () => this.stopAll(), { class: "stop", title: "Stop (Escape)" });
  private readonly send = h("button", { type: "submit", class: "primary", title: "Send (Enter)" }, "Send");
  private readonly tour = button("Take the Tour", () => deed({ what: "run", command: "oi-lsp.tour" }), {
    class: "quiet",
  });
  private chips: Chip[] = [];

  constructor(private readonly app: App) {
    const bar = h(
      "div",
      { class: "bar" },
      symbol("+", "Attach…", () => deed({ what: "attach" })),
      this.model,
      this.usage,
      this.tour,
      h("span", { class: "main" }, this.stop, this.send),
    );
    const onsubmit = (event: Event) => {
      event.preventDefault();
      this.submit();
    };
    this.element = h(
      "form",
      { id: "composer", onsubmit },
      this.queue,
      this.chipList,
      this.suggestions,
      this.field,
      bar,
    );
    this.field.addEventListener("keydown", (event) => this.onKey(event));
    this.field.addEventListener("input", () => this.changed());
    this.field.addEventListener("paste", (event) => this.onPaste(event));
    this.field.value = kept().draft ?? "";
    this.chips = kept().chips ?? [];
    this.showChips();
    this.changed();
    this.update();
  }

  focus(): void {
    this.field.focus();
  }

  /** Put a text where one writes, in the place of what stands there. */
  write(text: string): void {
    this.field.value = text;
    this.changed();
    this.focus();
  }

  attach(chips: Chip[]): void {
    this.chips.push(...chips);
    this.showChips();
    this.focus();
  }

  /** Show the state of the session. */
  update(): void {
    const { state } = this.app;
    const works = state !== undefined && state.state !== "idle";
    shown(this.stop, works);
    this.stop.disabled = state?.state === "stopping";
    this.send.disabled = state === undefined;
    this.send.textContent = works ? "Queue" : "Send";
    this.model.textContent = state?.model ?? "choosing a model…";
    shown(this.model, state !== undefined);
    shown(this.tour, state !== undefined && this.app.conversation.isEmpty);
    this.usage.textContent = state === undefined ? "" : words(state.usage);
    const waiting = state?.queue ?? [];
    this.queue.replaceChildren(...waiting.map(({ text }) => h("li", { title: text }, `waits: ${text}`)));
    shown(this.queue, waiting.length > 0);
  }

  /** Stop whatever goes on. What was queued comes back to where one writes. */
  stopAll(): void {
    act(this.app, async () => {
      const { unsent } = await command("oi.chat.stop", { sessionId: this.app.sessionId });
      if (unsent.length > 0) this.write([...unsent, this.field.value].filter(Boolean).join("\n\n"));
    });
  }

  private submit(): void {
    const text = this.field.value;
    if (text.trim() === "") return;
    if (this.app.state === undefined) {
      this.app.complain("The server is not there yet. Send the message when it is.");
      return;
    }
    const chips = this.chips;
    const attachments = chips.map((chip): Attachment => chip.attachment);
    this.chips = [];
    this.showChips();
    this.write("");
    act(this.app, () =>
      command("oi.chat.send", { sessionId: this.app.sessionId, content: text, attachments }).catch((error: unknown) => {
        if (this.field.value === "") this.write(text);
        this.attach(chips);
        throw error;
      }),
    );
  }

  private changed(): void {
    keep({ draft: this.field.value });
    void this.suggest();
  }

  // --- commands that begin with % ----------------------------------------------------------------------------

  private async suggest(): Promise<void> {
    const text = this.field.value;
    const offers = text.startsWith("%") && !text.includes("\n") ? await this.offersFor(text) : [];
    if (text !== this.field.value) return;
    this.suggestions.replaceChildren(...offers.map((offer) => this.suggestion(offer)));
    shown(this.suggestions, offers.length > 0);
  }

  private async offersFor(text: string): Promise<ChatOffer[]> {
    const session = this.app.sessionId === "" ? {} : { sessionId: this.app.sessionId };
    const { items } = await command("oi.chat.complete", { text, ...session }).catch(() => ({ items: [] }));
    return items.slice(0, 8);
  }

  private suggestion({ text, help }: ChatOffer): HTMLElement {
    const take = () => this.write(text);
    return h("button", { type: "button", role: "option", onclick: take }, h("code", {}, text), ` ${help}`);
  }

  // --- keys, pictures, chips ---------------------------------------------------------------------------------

  private onKey(event: KeyboardEvent): void {
    if (event.isComposing) return;
    const first = this.suggestions.querySelector("button");
    if (event.key === "Tab" && !event.shiftKey && first !== null && !this.suggestions.hidden) {
      event.preventDefault();
      first.click();
    } else if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      this.submit();
    }
  }

  private onPaste(event: ClipboardEvent): void {
    const pictures = [...(event.clipboardData?.files ?? [])].filter(({ type }) => /^image\/(png|jpeg)$/.test(type));
    if (pictures.length === 0) return;
    event.preventDefault();
    for (const picture of pictures) void this.attachPicture(picture);
  }

  private async attachPicture(file: File): Promise<void> {
    if (file.size > LARGEST_PICTURE) {
      this.app.complain(`This picture has ${file.size} bytes; at most ${LARGEST_PICTURE} are sent.`);
      return;
    }
    const bytes = new Uint8Array(await file.arrayBuffer());
    const content = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
    const format = file.type === "image/png" ? "base64.png" : "base64.jpeg";
    const attachment: Attachment = { role: "user", type: "image", format, content };
    this.attach([{ title: file.name || "a picture", detail: `${file.size} bytes`, attachment }]);
  }

  private showChips(): void {
    const chip = (each: Chip) =>
      h(
        "li",
        { title: each.detail.slice(0, 2000) },
        each.title,
        symbol("×", `Do not send ${each.title}`, () => {
          this.chips = this.chips.filter((other) => other !== each);
          this.showChips();
        }),
      );
    this.chipList.replaceChildren(...this.chips.map(chip));
    shown(this.chipList, this.chips.length > 0);
    keep({ chips: this.chips });
  }
}

function words(usage: { promptTokens: number; completionTokens: number; cost?: number } | undefined): string {
  if (usage === undefined || usage.promptTokens + usage.completionTokens === 0) return "";
  const tokens = `${short(usage.promptTokens)} ↑ ${short(usage.completionTokens)} ↓`;
  return usage.cost === undefined ? tokens : `${tokens} $${usage.cost.toFixed(usage.cost < 1 ? 4 : 2)}`;
}

function short(count: number): string {
  return count < 1000 ? String(count) : `${(count / 1000).toFixed(count < 10_000 ? 1 : 0)}k`;
}
