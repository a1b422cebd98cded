/* What is drawn of a sentence, and what filters and orders look at. */

import {arcLevels, pictureHeight} from "../../pictures/tree.js";
import {data, state} from "./page.js";

/* The arcs above and below the words of a sentence, by how the two chosen trees compare; see nonproj.pictures.content. */
export function arcsOf(sentence) {
  const heads = sentence.h[state.above], labels = sentence.l[state.above], above = [], below = [];
  const others = state.beside < 0 ? null : sentence.h[state.beside], names = others && sentence.l[state.beside];
  heads.forEach((head, i) => {  // -1: the word has no arc
    const label = data.labels[labels[i]];
    let kind = "plain";
    if (others) {
      const other = data.labels[names[i]];
      if (others[i] >= 0) kind = others[i] !== head ? "wrong" : label && other && label !== other ? "label-differs" : "right";
      if (others[i] >= 0 && kind !== "right") below.push({head: others[i], word: i + 1, label: other, kind: "other"});
    }
    if (head >= 0) above.push({head, word: i + 1, label, kind});
  });
  return {above, below};
}

/* What filters and orders look at, computed once for each sentence and pair of trees. */
export function factsOf(sentence) {
  const key = `${state.above} ${state.beside}`;
  if (sentence.key === key) return sentence.facts;
  const {above, below} = arcsOf(sentence), one = arcLevels(above), two = arcLevels(below);
  sentence.key = key;
  sentence.facts = {
    heads: above.filter((arc) => arc.kind === "wrong").length,
    labels: above.filter((arc) => arc.kind === "label-differs").length,
    missing: sentence.h[state.above].filter((head) => head < 0).length,
    unmatched: state.beside < 0 ? 0 : sentence.h[state.beside].filter((head, i) => head < 0 && sentence.h[state.above][i] >= 0).length,
    crossing: one.crosses.filter((crosses, i) => crosses && above[i].head).length,
    height: pictureHeight(one.highest, two.highest, sentence.t.some((tag) => data.tags[tag])),
  };
  return sentence.facts;
}

const doubt = (sentence) => (sentence.q !== undefined ? 1 - sentence.q : sentence.c ? 1 - Math.min(...sentence.c) / 100 : 0);

/* The highest confidence of an arc that differs from the other tree; -1 if there is none. */
function mostCertainError(sentence) {
  if (state.beside < 0) return -1;
  const known = state.above === 0 ? sentence.c : null;
  const shares = arcsOf(sentence).above.filter((arc) => arc.kind === "wrong" || arc.kind === "label-differs").map((arc) => (known ? known[arc.word - 1] / 100 : sentence.q ?? 0));
  return Math.max(-1, ...shares);
}

export const ORDERS = {
  file: null,
  wrong: (s) => factsOf(s).heads + factsOf(s).unmatched + factsOf(s).labels / 2,
  unsure: doubt,
  certificate: (s) => (s.s && !s.s.certified ? 1e6 + (s.s.gap || 0) : 0),
  confident: mostCertainError,
  crossing: (s) => factsOf(s).crossing,
  long: (s) => s.w.length,
};
