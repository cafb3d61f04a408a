/* The editor: CodeMirror, set up for Python. Its colours are in site.css. */

import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { python } from "@codemirror/lang-python";
import { bracketMatching, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { Annotation } from "@codemirror/state";
import { EditorView, highlightActiveLine, highlightActiveLineGutter, keymap, lineNumbers } from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";

const notTyped = Annotation.define();

/** `typed`: called after each change that the learner makes; `checks`: for Ctrl-Enter. */
export function editor(parent, doc, label, { typed, checks }) {
  const view = new EditorView({
    parent,
    doc,
    extensions: [
      lineNumbers(),
      highlightActiveLine(),
      highlightActiveLineGutter(),
      history(),
      indentOnInput(),
      indentUnit.of("    "),
      bracketMatching(),
      syntaxHighlighting(classHighlighter),
      python(),
      // Escape lets the next Tab leave: CodeMirror sees to that by itself.
      keymap.of([{ key: "Mod-Enter", run: () => (checks(), true) }, indentWithTab, ...defaultKeymap, ...historyKeymap]),
      EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
      EditorView.updateListener.of((update) => {
        if (update.docChanged && !update.transactions.some((one) => one.annotation(notTyped))) typed();
      }),
    ],
  });
  return {
    text: () => view.state.doc.toString(),
    /** Another text; Ctrl-Z brings back the old one. */
    replace(text) {
      const changes = { from: 0, to: view.state.doc.length, insert: text };
      view.dispatch({ changes, annotations: notTyped.of(true) });
    },
    focus: () => view.focus(),
  };
}
