/* Which sentences are shown: the search, the filters, the order, and counts of the matches. */

const MOST_MATCHES = 1_000_000, MOST_MILLISECONDS = 10_000, MOST_GROUPS = 200;
const COLUMN = {lemma: 0, xpos: 1, deps: 2, misc: 3};
const ANY_WORD = "{}";

/* The result of the last search: the matches in each sentence, and what is wrong with the query. */
const search = {key: "", query: null, matches: null, error: null, fields: [], fieldsError: null, note: ""};

/* The column of a word of CoNLL-U, other than HEAD and DEPREL; i counts from 0. */
function columnIn(sentence, key, i) {
  if (key === "form") return sentence.w[i];
  if (key === "upos") return data.tags[(sentence.u || sentence.t)[i]] || "_";
  if (key === "feats") return data.feats[sentence.f[i]] || "_";
  const column = sentence.x[COLUMN[key]];
  return column ? data.strings[column[i]] : "_";
}

/* A sentence as queries see it, with the pair of trees that is shown. */
function wordsOf(sentence) {
  const key = `${state.above} ${state.beside}`;
  if (sentence.words?.key === key) return sentence.words;
  const tree = (k) => (k < 0 ? new SearchTree(sentence.w.map(() => -1), sentence.w.map(() => "")) : new SearchTree(sentence.h[k], sentence.l[k].map((label) => data.labels[label])));
  sentence.words = {
    key, n: sentence.w.length, tree: tree(state.above), other: tree(state.beside), sentId: sentence.i || "",
    confidence: sentence.c && state.above === 0 ? sentence.c.map((share) => share / 100) : null,
    column: (name, word) => columnIn(sentence, name, word - 1),
  };
  return sentence.words;
}

/* Compile the query and the fields; while they are wrong, the last result stays. */
function compileSearch() {
  const text = state.query.trim() || (state.by.trim() ? ANY_WORD : "");
  search.error = search.fieldsError = null;
  let query = null;
  try {
    query = text ? new Query(text === ANY_WORD ? text : state.query) : null;
    if (query?.usesOther && state.beside < 0) throw new QueryError(1, "this report has one tree; ~ and differs compare it with another one");
  } catch (error) {
    if (!(error instanceof QueryError)) throw error;
    search.error = error;
    return false;
  }
  try {
    search.fields = state.by.trim() ? parseFields(state.by, query?.names || []) : [];
    if (state.beside < 0 && search.fields.some(({attribute}) => attribute.other || OF_BOTH.includes(attribute.key))) throw new QueryError(1, "this report has one tree");
  } catch (error) {
    if (!(error instanceof QueryError)) throw error;
    search.fields = [];
    search.fieldsError = error;
  }
  const key = query ? `${state.above} ${state.beside} ${query.text}` : "";
  if (key !== search.key) Object.assign(search, {key, query, matches: null});
  return true;
}

/* Search in all sentences, for a limited time. */
function findMatches() {
  const {query} = search, began = performance.now();
  if (search.matches || !query) return;
  let total = 0, abandoned = 0, searched = 0;
  search.note = "";
  search.matches = sentences.map((sentence, n) => {
    if (total > MOST_MATCHES || performance.now() - began > MOST_MILLISECONDS) return [];
    const {matches, complete} = query.find(wordsOf(sentence));
    total += matches.length;
    abandoned += !complete;
    searched = n + 1;
    return matches;
  });
  if (searched < sentences.length) search.note = `only the first ${several(searched, "sentence")} searched: ${total > MOST_MATCHES ? "too many matches" : "it takes too long"}`;
  else if (abandoned) search.note = `abandoned in ${several(abandoned, "sentence")}: too many combinations`;
}

/* The values of the fields in a match. */
function valuesOf(sentence, match, fields) {
  const words = wordsOf(sentence), {names} = search.query;
  return fields.map(({name, attribute}) => shownValue(attribute, words, name ? match[1 + names.indexOf(name)] : match[0]));
}

/* -- filters --------------------------------------------------------------------------------------------------------- */

function labelsOf(sentence, i) {
  return [state.above, state.beside].filter((tree) => tree >= 0).map((tree) => data.labels[sentence.l[tree][i]]);
}

/* The words with the chosen label and tag, or null if the sentence lacks one; if "differing" is pressed, only words where
the trees differ count. */
function chosenWords(sentence) {
  const found = new Set();
  const collect = (test) => {
    let any = false;
    for (let i = 0; i < sentence.w.length; i++) if (test(i) && (!state.wrong || differs(i))) { found.add(i + 1); any = true; }
    return any;
  };
  const differs = (i) => state.beside >= 0 && (sentence.h[state.above][i] !== sentence.h[state.beside][i] || sentence.l[state.above][i] !== sentence.l[state.beside][i]);
  if (state.label && !collect((i) => labelsOf(sentence, i).includes(state.label))) return null;
  if (state.tag && !collect((i) => data.tags[sentence.t[i]] === state.tag)) return null;
  return found;
}

function passes(sentence) {
  const proof = state.uncertified ? certificateOf(sentence) : null;
  if (state.uncertified && !(proof && !proof.certified)) return false;
  if (state.wrong && !(factsOf(sentence).heads + factsOf(sentence).labels + factsOf(sentence).unmatched)) return false;
  return !state.crossing || factsOf(sentence).crossing > 0;
}

/* Show the sentences that match, and count. */
function update() {
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
  shown = kept;
  current = -1;
  document.querySelector("article[aria-current]")?.removeAttribute("aria-current");
  find("list").replaceChildren(...kept.map((n) => itemOf(n).article));
  for (const n of kept) if (items.get(n).drawn) mark(items.get(n), sentences[n]);
  showCounts(kept.length, total);
  showErrors();
  showGroups(groups);
  writeFragment();
}

function order(kept) {
  const keyOf = ORDERS[state.sort];
  if (!keyOf) return;
  const keys = new Map(kept.map((n) => [n, keyOf(sentences[n])]));
  kept.sort((a, b) => keys.get(b) - keys.get(a) || a - b);
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
