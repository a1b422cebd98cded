/* Which sentences are shown: the search, the filters, the order, and counts of the matches. */

import {OF_BOTH, parseFields, QueryError} from "./syntax.js";
import {Query, SearchTree, shownValue} from "./query.js";
import {data, sentences, several, state} from "./page.js";
import {factsOf, ORDERS} from "./sentences.js";

export const MOST_MATCHES = 1_000_000, MOST_MILLISECONDS = 10_000, MOST_GROUPS = 200;
const COLUMN = {lemma: 0, xpos: 1, deps: 2, misc: 3};
const ANY_WORD = "{}";

/* The result of the last search: the matches in each sentence, and what is wrong with the query. */
export const search = {key: "", query: null, matches: null, error: null, fields: [], fieldsError: null, note: ""};

/* The column of a word of CoNLL-U, other than HEAD and DEPREL; i counts from 0. */
export function columnIn(sentence, key, i) {
  if (key === "form") return sentence.w[i];
  if (key === "upos") return data.tags[(sentence.u || sentence.t)[i]] || "_";
  if (key === "feats") return data.feats[sentence.f[i]] || "_";
  const column = sentence.x[COLUMN[key]];
  return column ? data.strings[column[i]] : "_";
}

/* A sentence as queries see it, with the pair of trees that is shown. */
export function wordsOf(sentence) {
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
export function compileSearch() {
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
export function findMatches() {
  const {query} = search, began = performance.now();
  if (search.matches || !query) return;
  let total = 0, abandoned = 0, searched = 0;
  search.note = "";
  search.matches = sentences.map((sentence, n) => {
    if (total > MOST_MATCHES || performance.now() - began > MOST_MILLISECONDS) return [];
    const {matches, complete} = query.find(wordsOf(sentence));
    total += matches.length;
    abandoned += Number(!complete);
    searched = n + 1;
    return matches;
  });
  if (searched < sentences.length) search.note = `only the first ${several(searched, "sentence")} searched: ${total > MOST_MATCHES ? "too many matches" : "it takes too long"}`;
  else if (abandoned) search.note = `abandoned in ${several(abandoned, "sentence")}: too many combinations`;
}

/* The values of the fields in a match. */
export function valuesOf(sentence, match, fields) {
  const words = wordsOf(sentence), {names} = search.query;
  return fields.map(({name, attribute}) => shownValue(attribute, words, name ? match[1 + names.indexOf(name)] : match[0]));
}

/* -- filters --------------------------------------------------------------------------------------------------------- */

function labelsOf(sentence, i) {
  return [state.above, state.beside].filter((tree) => tree >= 0).map((tree) => data.labels[sentence.l[tree][i]]);
}

/* The words with the chosen label and tag, or null if the sentence lacks one; if "differing" is pressed, only words where
the trees differ count. */
export function chosenWords(sentence) {
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

export function passes(sentence) {
  if (state.uncertified && sentence.s?.certified !== false) return false;
  if (state.wrong && !(factsOf(sentence).heads + factsOf(sentence).labels + factsOf(sentence).unmatched)) return false;
  return !state.crossing || factsOf(sentence).crossing > 0;
}

export function order(kept) {
  const keyOf = ORDERS[state.sort];
  if (!keyOf) return;
  const keys = new Map(kept.map((n) => [n, keyOf(sentences[n])]));
  kept.sort((a, b) => keys.get(b) - keys.get(a) || a - b);
}

