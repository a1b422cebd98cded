/* Sentences are drawn when they come into view. */

import {chooseSize, drawTree, visible} from "../../pictures/tree.js";
import {coveredArcs, showCertificate} from "../../pictures/certificate.js";
import {copy, data, items, list, make, sentences, several, state} from "./page.js";
import {writeFragment} from "./links.js";
import {arcsOf, factsOf} from "./sentences.js";
import {courseOf} from "./course.js";

const watcher = new IntersectionObserver((entries) => {
  for (const entry of entries) if (entry.isIntersecting) draw(Number(entry.target.dataset.n));
}, {rootMargin: "600px 0px"});

export function itemOf(n) {
  let item = items.get(n);
  if (!item) {
    const article = make("article");
    article.dataset.n = n;
    article.id = `s${n + 1}`;
    item = {article, drawn: false};
    items.set(n, item);
    placehold(item, sentences[n]);
  }
  return item;
}

export function placehold(item, sentence) {
  item.drawn = false;
  item.article.replaceChildren();
  item.article.style.minHeight = `${factsOf(sentence).height + 60}px`;
  watcher.observe(item.article);
}

function badge(className, sign, text, title) {
  const made = make("span", `badge ${className}`, text);
  made.dataset.sign = sign;
  if (title) made.title = title;
  return made;
}

function headOf(sentence, n) {
  const head = make("div", "head"), title = make("h2"), link = make("a", "", `${n + 1}`), facts = factsOf(sentence), proof = sentence.s;
  link.href = `#s${n + 1}`;
  link.title = "link to this sentence";
  link.addEventListener("click", (event) => { event.preventDefault(); makeCurrent(list.shown.indexOf(n)); });
  title.append(link, make("small", "", [sentence.i, sentence.p && `line ${sentence.p}`].filter(Boolean).join(" · ")));
  head.append(title, make("span", "", `${sentence.w.length} ${sentence.w.length === 1 ? "word" : "words"}`));
  const named = state.beside >= 0 && data.trees[state.beside].gold ? ["wrong head", "wrong label"] : ["other head", "other label"];
  if (facts.heads) head.append(badge("wrong", "✕", several(facts.heads, named[0])));
  if (facts.labels) head.append(badge("open", "≠", several(facts.labels, named[1])));
  if (facts.missing) head.append(badge("open", "?", `${facts.missing} without head`));
  if (facts.unmatched) head.append(badge("wrong", "∅", `${facts.unmatched} without ${data.trees[state.beside].gold ? "gold" : "other"} head`, "the other tree has no such word, or its head is in another sentence"));
  if (state.beside >= 0 && !facts.heads && !facts.labels && !facts.missing && !facts.unmatched) head.append(badge("good", "✓", data.trees[state.beside].gold ? "all right" : "the same"));
  if (facts.crossing) head.append(badge("cross", "⤫", `${facts.crossing} crossing`));
  if (proof && state.above === 0) {
    const text = proof.certified ? "✓ certified" : proof.gap === undefined ? "○ not certified" : `○ gap ${Number(Number(proof.gap).toPrecision(3))}`;
    head.append(...showCertificate(`${text} over ${coveredArcs(proof, sentence.w.length)}`, `badge ${proof.certified ? "good" : "open"}`, proof, sentence.w.length));
  }
  if (state.above === 0 && sentence.q !== undefined) head.append(make("span", "", `tree right with probability ${sentence.q.toFixed(2)}`));
  else if (state.above === 0 && sentence.c) head.append(make("span", "", `least certain ${(Math.min(...sentence.c) / 100).toFixed(2)}`));
  return head;
}

function pictureOf(sentence) {
  const {above, below} = arcsOf(sentence);
  return {
    forms: sentence.w, tags: sentence.t.map((tag) => data.tags[tag]), above, below, rightToLeft: Boolean(sentence.r),
    confidence: sentence.c && state.above === 0 ? sentence.c.map((share) => share / 100) : null,
    title: `Dependency tree: ${sentence.w.join(" ")}`,
  };
}

export function draw(n) {
  const item = items.get(n), sentence = sentences[n];
  if (!item || item.drawn) return;
  item.drawn = true;
  watcher.unobserve(item.article);
  const scroll = make("div", "scroll"), line = make("div", "about"), {svg, centers} = drawTree(pictureOf(sentence));
  scroll.tabIndex = 0;
  scroll.setAttribute("role", "group");
  scroll.setAttribute("aria-label", `Sentence ${n + 1}: arrow keys move between words`);
  line.setAttribute("aria-live", "polite");
  scroll.append(svg);
  item.article.replaceChildren(headOf(sentence, n), plainText(sentence), scroll, line);
  if (sentence.n) item.article.append(notesOf(sentence));
  if (sentence.k) item.article.append(courseOf(sentence));
  item.article.style.minHeight = "";
  Object.assign(item, {svg, centers, scroll, line, chosen: -1, size: chooseSize(scroll, svg, state.fit)});
  item.article.querySelector(".head").append(item.size.button);
  scroll.addEventListener("keydown", (event) => moveInside(event, item, sentence));
  svg.addEventListener("click", (event) => {
    const part = event.target.closest("[data-word]");
    if (part) choose(item, sentence, Number(part.dataset.word) - 1);
  });
  mark(item, sentence);
  if (sentence.r && !sentence.found.length) scroll.scrollLeft = scroll.scrollWidth;
}

/* What an audit says of the words of a sentence. */
function notesOf(sentence) {
  const list = make("ul", "notes");
  list.append(...sentence.n.map((text) => make("li", "", text)));
  return list;
}

/* The sentence as text, with a button that copies it. */
function plainText(sentence) {
  const line = make("div", "plain"), text = sentence.x, words = make("p", "", text), button = make("button", "quiet", "copy");
  words.dir = sentence.r ? "rtl" : "auto";
  button.title = "copy the sentence";
  button.setAttribute("aria-label", "Copy the sentence");
  button.addEventListener("click", () => copy(text, button));
  line.append(words, button);
  return line;
}

/* Mark the words that the filters find. */
export function mark(item, sentence) {
  for (const word of item.svg.querySelectorAll(".word")) word.classList.toggle("hit", sentence.found.includes(Number(word.dataset.word) - 1));
  if (sentence.found.length) scrollToWord(item, sentence.found[0]);
}

/* Scroll a wide tree to a word, counted from 0. */
function scrollToWord(item, i) {
  const scale = item.svg.getBoundingClientRect().width / Number(item.svg.getAttribute("width"));
  item.scroll.scrollLeft = item.centers[i] * scale - item.scroll.clientWidth / 2;
}

export function choose(item, sentence, i) {
  item.chosen = Math.max(0, Math.min(sentence.w.length - 1, i));
  for (const part of item.svg.querySelectorAll("[data-word]")) part.classList.toggle("chosen", Number(part.dataset.word) === item.chosen + 1);
  item.line.textContent = visible(describe(sentence, item.chosen));
  scrollToWord(item, item.chosen);
}

/* A word in words: its tag and features, its head and label in each tree, and how certain the head is. */
function describe(sentence, i) {
  const parts = [`${i + 1} ${sentence.w[i]}`, data.tags[sentence.t[i]], data.feats[sentence.f[i]]];
  const trees = [state.above, state.beside].filter((tree) => tree >= 0), seen = new Set();
  for (const tree of trees) {
    const head = sentence.h[tree][i], label = data.labels[sentence.l[tree][i]] || "_";
    const text = head < 0 ? "no head" : head ? `${label} of ${head} ${sentence.w[head - 1]}` : `${label} (root)`;
    if (seen.has(text)) continue;
    parts.push(trees.length > 1 ? `${data.trees[tree].name}: ${text}` : text);
    seen.add(text);
  }
  if (trees.length > 1 && seen.size === 1) parts[parts.length - 1] = [...seen][0];
  if (sentence.c) parts.push(`confidence ${(sentence.c[i] / 100).toFixed(2)}`);
  return parts.filter(Boolean).join(" · ");
}

function moveInside(event, item, sentence) {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  const step = sentence.r ? -1 : 1, first = sentence.r ? sentence.w.length - 1 : 0, chosen = item.chosen;
  const head = chosen >= 0 ? sentence.h[state.above][chosen] : 0;
  const moves = {ArrowRight: chosen < 0 ? first : chosen + step, ArrowLeft: chosen < 0 ? first : chosen - step, Home: 0, End: sentence.w.length - 1, ArrowUp: head > 0 ? head - 1 : Math.max(chosen, 0)};
  if (!(event.key in moves)) return;
  event.preventDefault();
  choose(item, sentence, moves[event.key]);
}

/* Go to a sentence by its place in the list; it becomes part of the page's address. */
export function makeCurrent(place, focus = true) {
  if (place < 0) return;
  list.current = place;
  document.querySelector("article[aria-current]")?.removeAttribute("aria-current");
  const item = items.get(list.shown[list.current]);
  draw(list.shown[list.current]);
  item.article.setAttribute("aria-current", "true");
  item.article.scrollIntoView({block: "start"});
  if (focus) item.scroll.focus({preventScroll: true});
  writeFragment();
}
