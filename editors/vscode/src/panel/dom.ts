// Elements without HTML: what a model or a program wrote only ever becomes text nodes.
import { codeOf, INVISIBLE } from "../words.js";

type Props = Record<string, unknown>;
export type Child = Node | string | undefined | false;

/** An element. `on*` are listeners, `class` and `aria-*` attributes; any other name is a property. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value as EventListener);
    else if (/^(class|role|for|aria-|data-|list$)/.test(name)) element.setAttribute(name, value as string);
    else Reflect.set(element, name, value);
  }
  element.append(...children.filter((child): child is Node | string => child !== undefined && child !== false));
  return element;
}

/** A button with words, or with a symbol and words for those who do not see it. */
export function button(label: string, onclick: (event: MouseEvent) => void, props: Props = {}): HTMLButtonElement {
  return h("button", { type: "button", onclick, ...props }, label);
}

/** Show an element or not. */
export function shown(element: HTMLElement, visible: boolean): void {
  element.hidden = !visible;
}

/** Text, with what cannot be seen in it made visible. */
export function visible(text: string): (Node | string)[] {
  const parts: (Node | string)[] = [];
  let done = 0;
  for (const found of text.matchAll(INVISIBLE)) {
    if (found.index > done) parts.push(text.slice(done, found.index));
    const code = codeOf(found[0]);
    parts.push(h("span", { class: "invisible", title: `an invisible character: ${code}` }, code));
    done = found.index + found[0].length;
  }
  if (done < text.length) parts.push(text.slice(done));
  return parts;
}
