/* The tree of the open sentence: how each arc is drawn, which word is chosen, and trees wider than the window. */

const SURE = 0.95, UNSURE = 0.8, DOUBTFUL = 0.5;
const LEAST_SCALE = 1 / 3;  // a tree that would be drawn smaller cannot be read, and is scrolled by default
const drawn = {svg: null, centers: [], top: 0, arcs: [], preview: null, changed: new Set(), fit: null};
let chosen = 0;

const word = (m) => sentence.words[m - 1];
const nameOf = (m) => (m ? `${m} ${sentence.rtl ? `\u2068${word(m).form}\u2069` : word(m).form}` : "the root");
const isDecided = (m) => word(m).decided.includes("head");
const isUnsure = (m) => !isDecided(m) && word(m).p !== null && word(m).p !== undefined && Math.min(word(m).p.head, word(m).p.label ?? 1) < UNSURE;

/* The kinds of an arc: decided; as in the file; predicted, with the level of its confidence. Where two annotators are
compared, only the words on which they differ stand out. */
function kindOf(m) {
  const {given, p, decided} = word(m), kinds = [];
  if (file.compare && isDisputed(m)) kinds.push("disputed");
  else if (file.compare && !differencesOf(m).length && !drawn.changed.has(m)) kinds.push("predicted");
  else if (decided.includes("head")) kinds.push("decided");
  else if (given && !p) kinds.push("given");
  else kinds.push("predicted", !p ? "" : p.head >= SURE ? "" : p.head >= UNSURE ? "fair" : p.head >= DOUBTFUL ? "unsure" : "doubtful");
  if (decided.includes("deprel") && (!file.compare || differencesOf(m).length)) kinds.push("named");
  if (drawn.changed.has(m)) kinds.push("changed");
  return kinds.filter(Boolean).join(" ");
}

/* Above the words the tree; below them what differs in the other annotator's tree or in a suggestion, and heads that
are not allowed. */
function arcsOfSentence() {
  const above = [], below = [], beside = drawn.preview || (sameWords() ? sentence.other : null);
  sentence.words.forEach(({head, deprel, forbidden}, k) => {
    if (head !== null) above.push({head, word: k + 1, label: absent(deprel), kind: kindOf(k + 1)});
    for (const other of forbidden || []) below.push({head: other, word: k + 1, label: "✕", kind: "forbidden"});
    if (!beside) return;
    const {head: second, deprel: label} = drawn.preview ? {head: beside.heads[k], deprel: beside.labels[k]} : beside.words[k] || {head: null};
    if (second !== null && second !== undefined && (second !== head || absent(label) !== absent(deprel))) below.push({head: second, word: k + 1, label: absent(label), kind: "other"});
  });
  return {above, below};
}

function pictureOf() {
  const {above, below} = arcsOfSentence(), {words} = sentence;
  const sure = words.map(({p}, k) => (!p || isDecided(k + 1) ? 1 : p.head));
  return {
    forms: words.map(({form}) => form), tags: words.map(({upos, xpos}) => absent(upos) || absent(xpos)), above, below,
    confidence: sure.some((share) => share < 1) ? sure : null, rightToLeft: sentence.rtl, title: `Dependency tree: ${sentence.text || words.map(({form}) => form).join(" ")}`,
  };
}

/* Draws the tree anew. */
function draw() {
  const made = drawTree(pictureOf()), groups = made.svg.querySelectorAll(".arc");
  Object.assign(drawn, made);
  made.arcs.forEach((arc, k) => finishArc(groups[k], arc));
  for (const each of made.svg.querySelectorAll(".word")) finishWord(each);
  drawMultiword(made);
  markChosen();
  const scroll = find("scroll"), {scrollLeft} = scroll;
  scroll.replaceChildren(made.svg);
  scroll.scrollLeft = scrollLeft;
  showWidth();
}

/* What an arc needs besides its line: the glow of a change, a dot if it is decided, and a wide invisible line to grasp. */
function finishArc(group, arc) {
  const d = arcPath(arc), line = group.querySelector(".line");
  if (arc.kind.includes("changed")) line.before(shape("path", {class: "glow", d}));
  if (arc.kind.includes("decided")) group.append(shape("circle", {class: "dot", cx: arc.end, cy: arc.foot - arc.up * (TIP + 5), r: 3.6}));
  group.append(shape("path", {class: "grasp", d}));
}

/* A word is easier to hit, and to drop on, with a box around it. */
function finishWord(group) {
  const m = Number(group.dataset.word), wide = Math.max(textWidth(word(m).form, `600 ${FORM}px`), 22) + 12;
  group.prepend(shape("rect", {class: "box", x: drawn.centers[m - 1] - wide / 2, y: drawn.top + 1, width: wide, height: 40, rx: 6}));
  group.querySelector(".form").setAttribute("direction", sentence.rtl ? "rtl" : "ltr");
}

/* A line below the words of each multiword token. */
function drawMultiword({svg, centers, top}) {
  for (const {first, last, form} of sentence.multiword || []) {
    const half = (m) => textWidth(word(m).form, `600 ${FORM}px`) / 2, sides = [first, last].map((m) => [centers[m - 1] - half(m), centers[m - 1] + half(m)]).flat();
    const left = Math.min(...sides), right = Math.max(...sides), group = shape("g", {class: "multiword"});
    group.append(shape("title", {}, `one token: ${form}`), shape("path", {d: `M${left} ${top + 22}v4H${right}v-4`}));
    svg.append(group);
  }
}

/* -- the chosen word ------------------------------------------------------------------------------------------------- */

function select(m, quiet) {
  chosen = sentence && sentence.words.length ? Math.max(1, Math.min(sentence.words.length, m)) : 0;
  markChosen();
  if (!chosen) return;
  reveal(chosen);
  showWordbar();
  if (!quiet) showRow(chosen);
}

function markChosen() {
  if (!drawn.svg) return;
  for (const part of drawn.svg.querySelectorAll("[data-word]")) part.classList.toggle("chosen", Number(part.dataset.word) === chosen && !part.classList.contains("forbidden") && !part.classList.contains("other"));
}

/* Scrolls so that a word of a wide tree is well within view. */
function reveal(m) {
  const scroll = find("scroll"), x = drawn.centers[m - 1], margin = Math.min(90, scroll.clientWidth / 4);
  if (drawn.svg.clientWidth > scroll.clientWidth && (x < scroll.scrollLeft + margin || x > scroll.scrollLeft + scroll.clientWidth - margin)) scroll.scrollLeft = x - scroll.clientWidth / 2;
}

/* A word in words. */
function describe(m) {
  const {head, deprel, upos, p, given, forbidden} = word(m);
  const arc = head === null ? "no head" : head ? `${absent(deprel) || "a dependent"} of ${nameOf(head)}` : `${absent(deprel) || "root"} (the root)`;
  const how = isDecided(m) ? "decided" : given && !p ? "as in the file" : p ? `head ${percent(p.head)}${p.label === null || p.label === undefined ? "" : `, label ${percent(p.label)}`}` : head === null ? "" : "predicted";
  const not = forbidden && forbidden.length ? `not allowed: ${forbidden.map(nameOf).join(", ")}` : "";
  return [nameOf(m), absent(upos), arc, how, not].filter(Boolean).join(" · ");
}

/* -- wide trees ------------------------------------------------------------------------------------------------------ */

function showWidth() {
  const scroll = find("scroll"), {svg} = drawn;
  if (!svg) return;
  const natural = Number(svg.getAttribute("width")), wide = natural > scroll.clientWidth + 1, fit = isFit();
  find("picture").classList.toggle("fit", fit && wide);
  showEdges();
  find("wide-sign").hidden = !wide;
  if (!wide) return;
  const share = scroll.clientWidth / natural;
  find("wide-text").textContent = fit ? `drawn at ${percent(share)}` : `${percent(share)} in view, scroll ↔`;
  find("fit").textContent = fit ? "Scroll" : "Fit";
  find("fit").setAttribute("aria-pressed", fit);
}

/* Whether a wide tree is drawn smaller: as chosen or, before anything is chosen, if it can be read then. */
function isFit() {
  return drawn.fit ?? find("scroll").clientWidth >= LEAST_SCALE * Number(drawn.svg.getAttribute("width"));
}

/* Shades the edges beyond which the tree goes on. */
function showEdges() {
  const {scrollLeft, scrollWidth, clientWidth} = find("scroll");
  find("picture").classList.toggle("more-left", scrollLeft > 2);
  find("picture").classList.toggle("more-right", scrollLeft + clientWidth < scrollWidth - 2);
}

function toggleFit() {
  drawn.fit = !isFit();
  showWidth();
  if (chosen) reveal(chosen);
}

find("scroll").addEventListener("scroll", showEdges, {passive: true});
find("fit").addEventListener("click", toggleFit);
new ResizeObserver(() => showWidth()).observe(find("scroll"));

/* -- legend ---------------------------------------------------------------------------------------------------------- */

function showLegend() {
  const rows = [["decided", "decided"]];
  if (file.compare) rows.push(["predicted", "both agree"], ["disputed", file.compare.first], ["other", file.compare.second]);
  else rows.push(...(file.confidence ? [] : [["given", "in the file"]]), ["predicted", file.model ? "predicted" : "not decided"]);
  if (file.confidence) rows.push(["predicted fair", "fairly sure"], ["predicted unsure", "unsure"], ["predicted doubtful", "doubtful"]);
  if (file.model) rows.push(["predicted changed", "changed"], ["forbidden", "not allowed"]);
  const made = (shown) => shown.map(([kind, text]) => {
    const line = make("li"), svg = shape("svg", {class: "tree", width: 34, height: 14, "aria-hidden": "true"}), group = shape("g", {class: `arc ${kind}`});
    if (kind.includes("changed")) group.append(shape("path", {class: "glow", d: "M2 7H26"}));
    group.append(shape("path", {class: "line", d: "M1 7H26"}), shape("path", {class: "tip", d: "M33 7L26 3V11Z"}));
    if (kind === "decided") group.append(shape("circle", {class: "dot", cx: 20, cy: 7, r: 3.6}));
    svg.append(group);
    line.append(svg, make("span", "", text));
    return line;
  });
  find("legend").replaceChildren(...made(rows.filter(([kind]) => kind !== "forbidden")));
  find("help-legend").replaceChildren(...made(rows));
}
