/* The list of the sentences that are shown, and their number. */

import {count, find, items, list, NONE, sentences, several, state} from "./page.js";
import {writeFragment} from "./links.js";
import {findSentences} from "./finding.js";
import {itemOf, mark, placehold} from "./drawing.js";

export function syncControls() {
  for (const name of ["text", "differs", "label", "tag", "sort"]) find(name).value = state[name];
  for (const name of ["crossing", "uncertified"]) find(`only-${name}`).setAttribute("aria-pressed", state[name]);
}

/* Change some filters or the order. */
export function change(changes) {
  Object.assign(state, changes);
  syncControls();
  update();
}

/* Filter anew, without what was chosen before. */
export const showOnly = (changes) => change({...NONE, ...changes});

export function redrawAll() {
  for (const [n, item] of items) placehold(item, sentences[n]);
  update();
}

/* Show the sentences that pass the filters, and count. */
export function update() {
  const {kept, words} = findSentences();
  list.shown = kept;
  list.current = -1;
  document.querySelector("article[aria-current]")?.removeAttribute("aria-current");
  find("list").replaceChildren(...kept.map((n) => itemOf(n).article));
  for (const n of kept) if (items.get(n).drawn) mark(items.get(n), sentences[n]);
  const of = kept.length === sentences.length ? several(kept.length, "sentence") : `${count(kept.length)} of ${count(sentences.length)}`;
  find("count").textContent = words ? `${several(kept.reduce((sum, n) => sum + sentences[n].found.length, 0), "word")} in ${of}` : of;
  find("nothing").hidden = kept.length > 0;
  writeFragment();
}
