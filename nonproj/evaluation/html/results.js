/* What the search finds: the list of sentences, counts, errors and groups. */

import {visible} from "../../pictures/tree.js";
import {count, find, items, list, make, NONE, sentences, several, state} from "./page.js";
import {writeFragment} from "./links.js";
import {chosenWords, compileSearch, findMatches, MOST_GROUPS, order, passes, search, valuesOf} from "./finding.js";
import {itemOf, mark, placehold} from "./drawing.js";

export function syncControls() {
  find("search").value = state.query;
  find("by").value = state.by;
  for (const name of ["wrong", "crossing", "uncertified"]) find(`only-${name}`).setAttribute("aria-pressed", state[name]);
  find("label").value = state.label;
  find("tag").value = state.tag;
  find("sort").value = state.sort;
}

/* Search and filter anew, without what was chosen before. */
export function showOnly(changes) {
  Object.assign(state, NONE, changes);
  syncControls();
  update();
}

export function redrawAll() {
  for (const [n, item] of items) placehold(item, sentences[n]);
  update();
}

/* Show the sentences that match, and count. */
export function update() {
  if (compileSearch()) findMatches();
  const kept = [], groups = new Map();
  let total = 0;
  sentences.forEach((sentence, n) => {
    if (search.query && !search.matches[n].length) return;
    const words = passes(sentence) ? chosenWords(sentence) : null;
    if (!words) return;
    let matches = search.query ? search.matches[n] : [];
    if (search.fields.length) {
      const keys = matches.map((match) => valuesOf(sentence, match, search.fields).join("\t"));
      for (const key of keys) groups.set(key, (groups.get(key) || 0) + 1);
      if (state.pick !== null) matches = matches.filter((_, i) => keys[i] === state.pick);
      if (!matches.length) return;
    }
    total += matches.length;
    kept.push(n);
    Object.assign(sentence, {found: state.query.trim() || state.pick !== null ? matches : [], chosenWords: words});
  });
  order(kept);
  list.shown = kept;
  list.current = -1;
  document.querySelector("article[aria-current]")?.removeAttribute("aria-current");
  find("list").replaceChildren(...kept.map((n) => itemOf(n).article));
  for (const n of kept) if (items.get(n).drawn) mark(items.get(n), sentences[n]);
  showCounts(kept.length, total);
  showErrors();
  showGroups(groups);
  writeFragment();
}

function showCounts(number, total) {
  const of = number === sentences.length ? several(number, "sentence") : `${count(number)} of ${count(sentences.length)}`;
  find("count").textContent = search.query ? `${several(total, "match", "matches")} in ${of}` : of;
  find("nothing").hidden = number > 0;
  find("note").textContent = search.query ? search.note : "";
  find("note").hidden = !find("note").textContent;
}

/* The message of an error, and the place in the text that it points at. */
function showErrors() {
  for (const [id, text, error] of [["search", state.query, search.error], ["by", state.by, search.fieldsError]]) {
    const place = find(`${id}-error`);
    find(id).setAttribute("aria-invalid", Boolean(error));
    place.hidden = !error;
    if (!error) continue;
    const chars = [...text], at = error.column - 1, code = make("code");
    code.append(chars.slice(Math.max(0, at - 30), at).join(""), make("mark", "", chars[at] || " "), chars.slice(at + 1, at + 30).join(""));
    place.replaceChildren(code, ` column ${error.column}: ${error.message}`);
  }
}

/* -- groups ------------------------------------------------------------------------------------------------------------ */

function showGroups(groups) {
  const place = find("groups"), {fields} = search;
  place.hidden = !fields.length || !groups.size;
  if (place.hidden) return place.replaceChildren();
  const table = make("table"), head = make("tr"), rows = [...groups].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  const total = rows.reduce((sum, row) => sum + row[1], 0), body = make("tbody"), top = make("thead");
  for (const [name, kind] of [...fields.map((field) => [field.text, "text"]), ["matches", ""], ["%", ""]]) head.append(Object.assign(make("th", kind, name), {scope: "col"}));
  for (const [key, number] of rows.slice(0, MOST_GROUPS)) body.append(groupRow(key, number, total));
  top.append(head);
  table.append(top, body);
  const scroll = make("div", "scroll"), note = `${several(rows.length, "group")} of ${several(total, "match", "matches")}; choose one to see its sentences.`;
  scroll.append(table);
  place.replaceChildren(make("p", "note", rows.length > MOST_GROUPS ? `The ${MOST_GROUPS} largest of ${note}` : note), scroll);
}

function groupRow(key, number, total) {
  const line = make("tr"), meter = make("span", "meter"), bar = make("i"), share = make("td", "", (100 * number / total).toFixed(1));
  key.split("\t").forEach((value, i) => {
    const cell = make("td", "text");
    if (i) cell.textContent = visible(value);
    else {
      const button = make("button", "", value || "(empty)");
      button.setAttribute("aria-pressed", state.pick === key);
      button.addEventListener("click", () => { state.pick = state.pick === key ? null : key; update(); });
      cell.append(button);
    }
    cell.dir = "auto";
    line.append(cell);
  });
  bar.style.width = `${100 * number / total}%`;
  meter.append(bar);
  share.append(meter);
  line.append(make("td", "", count(number)), share);
  return line;
}
