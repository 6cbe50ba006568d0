// What a model, a program or a server wrote, as it may be shown.

// What changes how text reads without being seen: bidirectional controls, invisible characters, controls.
/* eslint-disable no-control-regex */
export const INVISIBLE =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

/** What such a character is called: `U+202E`. */
export function codeOf(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}

/** Words for one of VS Code's notices, which would make links of `[…](…)`: of commands too. */
export function plainWords(words: string): string {
  return words.replaceAll("](", "] (");
}
