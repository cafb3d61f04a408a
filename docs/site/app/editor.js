/* The editors of a page: CodeMirror, set up for Python. Their colours are in site.css. */

import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { python } from "@codemirror/lang-python";
import { bracketMatching, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { Annotation } from "@codemirror/state";
import { Decoration, EditorView, highlightActiveLine, highlightActiveLineGutter, keymap, lineNumbers, ViewPlugin } from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";

const notTyped = Annotation.define();

/** Lines that know how far in they begin: where one is broken, it goes on further in. */
function indented(view) {
  const marks = [];
  for (const { from, to } of view.visibleRanges) {
    for (let line, at = from; at <= to; at = line.to + 1) {
      line = view.state.doc.lineAt(at);
      marks.push(Decoration.line({ attributes: { style: `--in: ${line.text.search(/\S|$/)}` } }).range(line.from));
    }
  }
  return Decoration.set(marks);
}

class Hanging {
  constructor(view) {
    this.decorations = indented(view);
  }

  update({ docChanged, viewportChanged, view }) {
    if (docChanged || viewportChanged) this.decorations = indented(view);
  }
}

let vocabulary; // what can stand behind `tl.`, with a line of help: fetched when somebody types it

async function words() {
  vocabulary ??= fetch(new URL("vocabulary.json", import.meta.url)).then((answer) => answer.json());
  return Object.entries((await vocabulary.catch(() => (vocabulary = undefined))) ?? {});
}

/** Completions behind `tl.`: what the checker takes. */
async function afterTl(context) {
  const typed = context.matchBefore(/\btl\.\w*/);
  if (!typed) return null;
  const options = (await words()).map(([label, info]) => ({ label, info: info || undefined, type: info ? "function" : "type" }));
  return { from: typed.from + 3, options, validFor: /^\w*$/ };
}

/** An editor. `typed`: called after each change that the learner makes; `checks`: for Ctrl-Enter; `plain`: a small one. */
export function editor(parent, doc, label, { typed = () => {}, checks, plain = false }) {
  const marks = plain ? [] : [lintGutter(), highlightActiveLine(), highlightActiveLineGutter(), autocompletion({ override: [afterTl] })];
  const tab = plain ? [] : [indentWithTab]; // who comes by with Tab shall not change a cell of the lesson
  const keys = [...closeBracketsKeymap, ...searchKeymap, ...completionKeymap, ...tab, ...defaultKeymap, ...historyKeymap];
  parent.addEventListener("keydown", (event) => event.stopPropagation()); // the page's own keys, such as / for its search
  const view = new EditorView({
    parent,
    doc,
    extensions: [
      plain ? [] : lineNumbers(),
      marks,
      history(),
      indentOnInput(),
      indentUnit.of("    "),
      bracketMatching(),
      closeBrackets(),
      highlightSelectionMatches(),
      syntaxHighlighting(classHighlighter),
      python(),
      EditorView.lineWrapping,
      ViewPlugin.fromClass(Hanging, { decorations: ({ decorations }) => decorations }),
      // At the end of a wrapped row the caret belongs to one of two: CodeMirror would see to that later, and take the focus.
      EditorView.domEventHandlers({ blur: (_, one) => setTimeout(() => one.hasFocus || one.dispatch({ selection: { anchor: one.state.selection.main.head } })) }),
      // Escape lets the next Tab leave: CodeMirror sees to that by itself.
      keymap.of([{ key: "Mod-Enter", run: () => (checks(), true) }, ...keys]),
      EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
      EditorView.updateListener.of((update) => {
        if (update.docChanged && !update.transactions.some((one) => one.annotation(notTyped))) typed();
      }),
    ],
  });
  const at = (line) => view.state.doc.line(Math.min(Math.max(1, line), view.state.doc.lines));
  return {
    text: () => view.state.doc.toString(),
    /** Another text; Ctrl-Z brings back the old one. */
    replace(text) {
      const changes = { from: 0, to: view.state.doc.length, insert: text };
      view.dispatch({ changes, annotations: notTyped.of(true) });
    },
    /** Mark lines, each with what is to be said of it, in place of those that are marked. */
    mark(found) {
      const marked = found.map(({ line, said, severity = "error" }) => ({ from: at(line).from, to: at(line).to, severity, message: said }));
      view.dispatch(setDiagnostics(view.state, marked));
      dispatchEvent(new MouseEvent("mousemove", { clientX: -99, clientY: -99 })); // shuts what a mark that is gone has said
    },
    /** Bring a line to the middle of the code, and leave the caret, the focus and the page where they are. */
    show(line) {
      const { top, height } = view.lineBlockAt(at(line).from);
      view.scrollDOM.scrollTop = top + (height - view.scrollDOM.clientHeight) / 2;
    },
    /** Go to a line, with three lines above it. */
    goTo(line) {
      const yMargin = document.querySelector(".mobile-header")?.offsetHeight ?? 0; // it lies on what is at the top
      const effects = EditorView.scrollIntoView(at(line - 3).from, { y: "start", yMargin });
      view.dispatch({ selection: { anchor: at(line).from }, effects });
      view.focus();
    },
    /** The number of the line at which the mouse is. */
    lineAt: ({ clientX: x, clientY: y }) => view.state.doc.lineAt(view.posAtCoords({ x, y }, false)).number,
    focus: () => view.focus(),
  };
}
