// The editor of a block of code that waits for a decision.
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { EditorState, type Extension } from "@codemirror/state";
import { drawSelection, EditorView, highlightSpecialChars, keymap, lineNumbers } from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";
import { support } from "./highlight.js";

/** As `visible` in dom.ts has it, beside what CodeMirror shows by itself. */
const INVISIBLE = /[\u00ad\u2060-\u206f\u{e0000}-\u{e007f}]/gu;

interface Keys {
  run: () => void;
  leave: () => void;
  changed: () => void;
}

/** An editor with `code` in it. Escape leaves it, as Tab goes on to the next button. */
export function codeEditor(code: string, language: string, keys: Keys): EditorView {
  const own = keymap.of([
    { key: "Mod-Enter", run: () => (keys.run(), true) },
    { key: "Escape", run: () => (keys.leave(), true) },
  ]);
  const extensions: Extension[] = [
    own,
    lineNumbers(),
    history(),
    drawSelection(),
    indentOnInput(),
    bracketMatching(),
    highlightSpecialChars({ addSpecialChars: INVISIBLE }),
    syntaxHighlighting(classHighlighter),
    keymap.of([...defaultKeymap, ...historyKeymap]),
    EditorView.lineWrapping,
    // What runs is the text to the byte: no other line end is taken for one.
    EditorState.lineSeparator.of("\n"),
    EditorView.contentAttributes.of({ "aria-label": `${language} code, to be edited before it runs` }),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) keys.changed();
    }),
  ];
  const known = support(language);
  if (known !== undefined) extensions.push(known);
  return new EditorView({ state: EditorState.create({ doc: code, extensions }) });
}

/** What stands in the editor. */
export function codeOf(editor: EditorView): string {
  return editor.state.sliceDoc();
}
