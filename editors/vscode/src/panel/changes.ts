// What a run changed on disk: each file, its difference, and the way back.
import type { ChangeHunk, ChangesRevertResult, FileDifference } from "../protocol.js";
import { act, type App, type Row } from "./app.js";
import { command, deed } from "./bridge.js";
import type { Change, Item } from "./conversation.js";
import { button, h, visible } from "./dom.js";

const KINDS: Record<string, string> = { added: "new", deleted: "deleted", modified: "changed", mode: "permissions" };

export class ChangesView implements Row {
  readonly element = h("section", { class: "changes", "aria-label": "Changed on disk" });
  private readonly said = h("p", { class: "said", role: "status" });
  private readonly change: Change;
  private drawn = false;

  constructor(
    private readonly app: App,
    private readonly item: Item,
  ) {
    this.change = item.change ?? { id: item.id, files: [], more: 0 };
  }

  update(): void {
    if (this.drawn) return;
    this.drawn = true;
    const { files, more } = this.change;
    const count = files.length + more;
    this.element.append(
      h(
        "header",
        {},
        h("span", {}, `Changed on disk: ${count} ${count === 1 ? "path" : "paths"}`),
        button("Revert all", () => this.revert({}), { class: "quiet" }),
      ),
      h("ul", {}, ...files.map((file) => this.fileItem(file))),
      this.said,
    );
    if (this.item.replayed) void this.app.changeSets.then((kept) => kept.has(this.change.id) || this.retire());
  }

  /** Be text alone: what was there before is not kept any more, or this is another session. */
  private retire(): void {
    for (const each of this.element.querySelectorAll("button")) {
      if (each.classList.contains("path")) each.disabled = true;
      else each.remove();
    }
  }

  private fileItem({ path, kind, what, added, removed }: Change["files"][number]): HTMLElement {
    const lines = added === undefined ? "" : ` +${added} −${removed ?? 0}`;
    const hunks = h("div", { class: "hunks" });
    const isText = what === "file" && kind !== "mode";
    return h(
      "li",
      {},
      button(path, () => deed({ what: "openFile", path }), {
        class: "link path",
        disabled: kind === "deleted" || !isText,
      }),
      h("span", { class: "kind" }, `${KINDS[kind] ?? kind}${lines}`),
      isText && button("Diff", () => deed({ what: "compareFile", changeId: this.change.id, path }), { class: "quiet" }),
      isText && button("Hunks", () => this.showHunks(path, hunks), { class: "quiet" }),
      button("Revert", () => this.revert({ path }), { class: "quiet", "aria-label": `Revert ${path}` }),
      hunks,
    );
  }

  private showHunks(path: string, into: HTMLElement): void {
    if (into.firstChild !== null) {
      into.replaceChildren();
      return;
    }
    act(this.app, async () => {
      const found = await command("oi.changes.diff", { ...this.which, path });
      into.replaceChildren(...found.files.flatMap((file) => this.hunksOf(file, path)));
    });
  }

  private hunksOf({ hunks, why }: FileDifference, path: string): HTMLElement[] {
    if (why !== undefined) return [h("p", {}, why)];
    return hunks.map((hunk) =>
      h(
        "div",
        { class: "hunk" },
        linesOf(hunk),
        button("Revert", () => this.revert({ path, hunkId: hunk.hunkId }), {
          class: "quiet",
          "aria-label": `Revert the lines from ${hunk.start + 1} on`,
        }),
      ),
    );
  }

  private get which(): { sessionId: string; changeId: string } {
    return { sessionId: this.app.sessionId, changeId: this.change.id };
  }

  private revert(part: { path?: string; hunkId?: string }): void {
    act(this.app, async () => {
      const done: ChangesRevertResult = await command("oi.changes.revert", { ...this.which, ...part });
      const left = (done.left ?? []).map(({ path, reason }) => `${path} was left: ${reason}`);
      const back = done.reverted?.files.map((file) => file.path) ?? [];
      const words = back.length > 0 ? `Taken back: ${back.join(", ")}.` : "All was as before already.";
      this.said.textContent = [...(back.length > 0 || left.length === 0 ? [words] : []), ...left].join(" ");
    });
  }
}

function linesOf({ old, new: now }: ChangeHunk): HTMLElement {
  const side = (text: string, sign: string, name: string) =>
    text === ""
      ? []
      : text
          .replace(/\n$/, "")
          .split("\n")
          .map((line) => h("span", { class: `line ${name}` }, ...visible(`${sign}${line}\n`)));
  return h("pre", { class: "code", tabIndex: 0 }, ...side(old, "−", "removed"), ...side(now, "+", "added"));
}
