/* What a page says, in its language: an English sentence is its own key, and its {holes} are filled. */

const sentences = JSON.parse(document.querySelector("script.sentences")?.textContent ?? "{}"); // none in English

export function t(english, holes = {}) {
  return (sentences[english] ?? english).replace(/\{(\w+)\}/g, (hole, name) => holes[name] ?? hole);
}
