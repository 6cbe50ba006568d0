// What the sandbox kept a run from, to be allowed until the session ends.
import { act, type App, type Row } from "./app.js";
import { command } from "./bridge.js";
import type { Item } from "./conversation.js";
import { button, h, shown, visible } from "./dom.js";

/** A button for each path, and for the network; what is allowed by now has none. */
export function deniedRow(app: App, item: Item): Row {
  const element = h("div", { class: "denied", role: "group", "aria-label": "Kept from it by the sandbox" });
  const allow = (path: string | undefined, ...what: (Node | string)[]) => {
    const of = path === undefined ? { network: true } : { path };
    const found = button("", () => act(app, () => command("oi.sandbox.allow", { sessionId: app.sessionId, ...of })));
    found.append("Allow ", ...what, " in this session");
    return found;
  };
  const update = () => {
    const { paths, network } = item.denied ?? { paths: [], network: false };
    element.replaceChildren(
      ...paths.map((path) => allow(path, "writing to ", ...visible(path))),
      ...(network ? [allow(undefined, "the network")] : []),
      h("span", { class: "then" }, "The next run starts afresh then: variables go."),
    );
    shown(element, network || paths.length > 0);
  };
  return { element, update };
}
