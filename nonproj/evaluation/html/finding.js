/* The sentences that are shown: filters on words and on sentences, and the order. */

import {data, sentences, state} from "./page.js";
import {factsOf, ORDERS} from "./sentences.js";

const labelIn = (sentence, tree, i) => data.labels[sentence.l[tree][i]];

/* How the two trees differ in a word: "head", "label" or "". */
function difference(sentence, i) {
  const {above, beside} = state;
  if (beside < 0) return "";
  if (sentence.h[above][i] !== sentence.h[beside][i]) return "head";
  const [one, two] = [labelIn(sentence, above, i), labelIn(sentence, beside, i)];
  return one && two && one !== two ? "label" : "";
}

/* The tests that a word must pass, as functions of its sentence and place. */
function wordTests() {
  const tests = [], texts = state.text.toLowerCase().split(/\s+/).filter(Boolean);
  const trees = [state.above, state.beside].filter((tree) => tree >= 0);
  texts.forEach((text, k) => tests.push((s, i) => i + k < s.w.length && [s.w[i + k], data.lemmas[s.m[i + k]]].some((each) => each.toLowerCase() === text)));
  if (state.tag) tests.push((s, i) => data.tags[s.t[i]] === state.tag);
  if (state.label) tests.push((s, i) => trees.some((tree) => labelIn(s, tree, i) === state.label));
  if (state.differs) tests.push((s, i) => (state.differs === "any" ? difference(s, i) !== "" : difference(s, i) === state.differs));
  return tests;
}

/* Find the words that pass all filters on words, and return the numbers of the sentences with such words that pass the others. */
export function findSentences() {
  const tests = wordTests(), kept = [];
  sentences.forEach((sentence, n) => {
    sentence.found = tests.length ? sentence.w.map((_, i) => i).filter((i) => tests.every((test) => test(sentence, i))) : [];
    if (tests.length && !sentence.found.length) return;
    if (state.uncertified && sentence.s?.certified !== false) return;
    if (!state.crossing || factsOf(sentence).crossing > 0) kept.push(n);
  });
  const keyOf = ORDERS[state.sort];
  if (keyOf) {
    const keys = new Map(kept.map((n) => [n, keyOf(sentences[n])]));
    kept.sort((a, b) => keys.get(b) - keys.get(a) || a - b);
  }
  return {kept, words: tests.length > 0};
}
