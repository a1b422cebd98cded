/* The page of a report: sentences are filtered, sorted, and drawn when they come into view. */

const find = (id) => document.getElementById(id);
const data = JSON.parse(find("data").textContent);
const sentences = data.sentences, items = new Map();
const state = {above: data.trees.length ? 0 : -1, beside: data.beside, query: "", label: "", tag: "", wrong: false, crossing: false, uncertified: false, sort: "file"};
const KINDS = ["plain", "right", "label-differs", "wrong", "other"];
let shown = [], current = -1;

function make(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

/* -- sentences ----------------------------------------------------------------------------------------------------- */

/* The arcs above and below the words of a sentence, by how the two chosen trees compare; see nonproj.pictures.content. */
function arcsOf(sentence) {
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
function factsOf(sentence) {
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

function certificateOf(sentence) {
  if (!sentence.s || sentence.s[0] === null) return null;
  const [certified, gap, iterations, nodes] = sentence.s;
  return {certified, gap, iterations, nodes};
}

const doubt = (sentence) => (sentence.q !== undefined ? 1 - sentence.q : sentence.c ? 1 - Math.min(...sentence.c) / 100 : 0);
const ORDERS = {
  file: null,
  wrong: (s) => factsOf(s).heads + factsOf(s).unmatched + factsOf(s).labels / 2,
  unsure: doubt,
  certificate: (s) => { const proof = certificateOf(s); return proof && !proof.certified ? 1e6 + (proof.gap || 0) : 0; },
  crossing: (s) => factsOf(s).crossing,
  long: (s) => s.w.length,
};

/* The parts of a query: words, and label:… or tag:…; a sentence must have all. */
function readQuery(text) {
  const wanted = {words: [], labels: [], tags: []};
  for (const part of text.trim().split(/\s+/)) {
    if (/^label:./.test(part)) wanted.labels.push(part.slice(6));
    else if (/^tag:./.test(part)) wanted.tags.push(part.slice(4));
    else if (part) wanted.words.push(part.toLocaleLowerCase());
  }
  if (state.label) wanted.labels.push(state.label);
  if (state.tag) wanted.tags.push(state.tag);
  return wanted;
}

function labelsOf(sentence, i) {
  return [state.above, state.beside].filter((tree) => tree >= 0).map((tree) => data.labels[sentence.l[tree][i]]);
}

/* The words of a sentence that a query asks for, or null if it lacks one; labels and tags that are wanted together with
"differing" must be at words where the trees differ. */
function hitsOf(sentence, wanted) {
  const hits = new Set();
  const collect = (test) => {
    let found = false;
    for (let i = 0; i < sentence.w.length; i++) if (test(i)) { hits.add(i); found = true; }
    return found;
  };
  const differs = (i) => state.beside >= 0 && (sentence.h[state.above][i] !== sentence.h[state.beside][i] || sentence.l[state.above][i] !== sentence.l[state.beside][i]);
  for (const word of wanted.words) if (!collect((i) => sentence.w[i].toLocaleLowerCase().includes(word)) && !(sentence.i || "").toLocaleLowerCase().includes(word)) return null;
  for (const label of wanted.labels) if (!collect((i) => labelsOf(sentence, i).includes(label) && (!state.wrong || differs(i)))) return null;
  for (const tag of wanted.tags) if (!collect((i) => data.tags[sentence.t[i]] === tag && (!state.wrong || differs(i)))) return null;
  return hits;
}

function update() {
  const wanted = readQuery(state.query), kept = [];
  sentences.forEach((sentence, n) => {
    const proof = certificateOf(sentence), hits = hitsOf(sentence, wanted);
    if (!hits || (state.uncertified && !(proof && !proof.certified))) return;
    if (state.wrong && !(factsOf(sentence).heads + factsOf(sentence).labels + factsOf(sentence).unmatched)) return;
    if (state.crossing && !factsOf(sentence).crossing) return;
    kept.push(n);
    const old = sentence.hits || "", now = [...hits].sort((a, b) => a - b).join(" ");
    sentence.hits = now;
    if (old !== now && items.get(n)?.drawn) mark(items.get(n), sentence);
  });
  const order = ORDERS[state.sort];
  if (order) {
    const keys = new Map(kept.map((n) => [n, order(sentences[n])]));
    kept.sort((a, b) => keys.get(b) - keys.get(a) || a - b);
  }
  shown = kept;
  current = -1;
  document.querySelector("article[aria-current]")?.removeAttribute("aria-current");
  find("list").replaceChildren(...kept.map((n) => itemOf(n).article));
  find("count").textContent = kept.length === sentences.length ? `${count(kept.length)} sentences` : `${count(kept.length)} of ${count(sentences.length)}`;
  find("nothing").hidden = kept.length > 0;
}

const count = (number) => number.toLocaleString("en");

/* -- drawing --------------------------------------------------------------------------------------------------------- */

const watcher = new IntersectionObserver((entries) => {
  for (const entry of entries) if (entry.isIntersecting) draw(Number(entry.target.dataset.n));
}, {rootMargin: "600px 0px"});

function itemOf(n) {
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

function placehold(item, sentence) {
  item.drawn = false;
  item.article.replaceChildren();
  item.article.style.minHeight = `${factsOf(sentence).height + 32}px`;
  watcher.observe(item.article);
}

function badge(className, sign, text, title) {
  const made = make("span", `badge ${className}`, text);
  made.dataset.sign = sign;
  if (title) made.title = title;
  return made;
}

function headOf(sentence, n) {
  const head = make("div", "head"), title = make("h2", "", `${n + 1}`), facts = factsOf(sentence), proof = certificateOf(sentence);
  title.append(make("small", "", [sentence.i, sentence.p && `line ${sentence.p}`].filter(Boolean).join(" · ")));
  head.append(title, make("span", "", `${sentence.w.length} ${sentence.w.length === 1 ? "word" : "words"}`));
  const named = state.beside >= 0 && data.trees[state.beside].gold ? ["wrong head", "wrong label"] : ["other head", "other label"];
  const several = (number, text) => `${number} ${text}${number === 1 ? "" : "s"}`;
  if (facts.heads) head.append(badge("wrong", "✕", several(facts.heads, named[0])));
  if (facts.labels) head.append(badge("open", "≠", several(facts.labels, named[1])));
  if (facts.missing) head.append(badge("open", "?", `${facts.missing} without head`));
  if (facts.unmatched) head.append(badge("wrong", "∅", `${facts.unmatched} without ${data.trees[state.beside].gold ? "gold" : "other"} head`, "the other tree has no such word, or its head is in another sentence"));
  if (state.beside >= 0 && !facts.heads && !facts.labels && !facts.missing && !facts.unmatched) head.append(badge("good", "✓", data.trees[state.beside].gold ? "all right" : "the same"));
  if (facts.crossing) head.append(badge("cross", "⤫", `${facts.crossing} crossing`));
  if (proof && state.above === 0) {
    const steps = [proof.iterations === null ? "" : several(proof.iterations, "iteration"), proof.nodes ? several(proof.nodes, "node") : ""].filter(Boolean).join(", ");
    head.append(proof.certified ? badge("good", "✓", "certified", "no tree over its candidate arcs scores higher") : badge("open", "○", proof.gap === null ? "not certified" : `gap ${proof.gap}`, "another tree may score higher by the gap"));
    if (steps) head.append(make("span", "", steps));
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

function draw(n) {
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
  item.article.replaceChildren(headOf(sentence, n), scroll, line);
  if (sentence.n) item.article.append(notesOf(sentence));
  if (sentence.k) item.article.append(courseOf(sentence));
  item.article.style.minHeight = "";
  Object.assign(item, {svg, centers, scroll, line, chosen: -1});
  scroll.addEventListener("keydown", (event) => moveInside(event, item, sentence));
  svg.addEventListener("click", (event) => {
    const part = event.target.closest("[data-word]");
    if (part) choose(item, sentence, Number(part.dataset.word) - 1);
  });
  mark(item, sentence);
}

/* What an audit says of the words of a sentence. */
function notesOf(sentence) {
  const list = make("ul", "notes");
  list.append(...sentence.n.map((text) => make("li", "", text)));
  return list;
}

function mark(item, sentence) {
  const hits = new Set((sentence.hits || "").split(" ").filter(Boolean).map(Number));
  for (const word of item.svg.querySelectorAll(".word")) word.classList.toggle("hit", hits.has(Number(word.dataset.word) - 1));
}

function choose(item, sentence, i) {
  item.chosen = Math.max(0, Math.min(sentence.w.length - 1, i));
  for (const part of item.svg.querySelectorAll("[data-word]")) part.classList.toggle("chosen", Number(part.dataset.word) === item.chosen + 1);
  item.line.textContent = describe(sentence, item.chosen);
  item.scroll.scrollLeft = item.centers[item.chosen] - item.scroll.clientWidth / 2;
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

function redrawAll() {
  for (const [n, item] of items) placehold(item, sentences[n]);
  update();
}

/* -- the course of dual decomposition -------------------------------------------------------------------------------- */

function courseOf(sentence) {
  const details = make("details", "course"), course = sentence.k, last = course.length;
  details.append(make("summary", "", `Course of dual decomposition: ${last} ${last === 1 ? "iteration" : "iterations"}`));
  details.addEventListener("toggle", () => {
    if (details.open && details.childElementCount === 1) fillCourse(details, sentence);
  });
  return details;
}

function fillCourse(details, sentence) {
  const course = sentence.k, last = course.length, steps = make("div", "steps"), slider = make("input"), text = make("output"), scroll = make("div", "scroll");
  let cursor = null;
  if (sentence.chart) {
    const chart = new DOMParser().parseFromString(sentence.chart, "image/svg+xml").documentElement;
    chart.classList.add("chart");
    cursor = shape("line", {y1: data.chart.top, y2: data.chart.bottom, stroke: "currentColor", "stroke-dasharray": "3 3"});
    chart.append(cursor);
    details.append(document.importNode(chart, true));
    cursor = details.querySelector("svg.chart > line:last-child");
  }
  Object.assign(slider, {type: "range", min: 1, max: last, value: last});
  slider.setAttribute("aria-label", "Iteration");
  const note = "Above: the tree at this iteration's multipliers; dashed where no automaton takes the arc. Below: arcs that only automata take (grandparent: only as a grandparent's arc).";
  steps.append(slider, text);
  details.append(steps, scroll, make("p", "note", note));
  const show = () => {
    const k = Number(slider.value), [dual, primal, heads, missing, extra] = course[k - 1];
    const best = Math.min(...course.slice(0, k).map((each) => each[0])), found = Math.max(...course.slice(0, k).map((each) => each[1]));
    const disputed = missing.length + extra.length;
    text.textContent = `iteration ${k}: bound ${best.toFixed(2)}, tree ${found.toFixed(2)}, gap ${Math.max(0, best - found).toPrecision(3)}; ${disputed} disputed`;
    text.title = `dual ${dual}, primal ${primal}`;
    const above = heads.map((head, i) => ({head, word: i + 1, label: "", kind: missing.includes(i + 1) ? "wrong" : "right"}));
    const below = extra.map(([head, word, which]) => ({head, word, label: which === 2 ? "grandparent" : "", kind: "other"}));
    scroll.replaceChildren(drawTree({forms: sentence.w, tags: sentence.w.map(() => ""), above, below, rightToLeft: Boolean(sentence.r), title: `Iteration ${k}: ${text.textContent}`}).svg);
    if (cursor) {
      const x = data.chart.left + (last > 1 ? ((k - 1) / (last - 1)) * data.chart.width : 0);
      cursor.setAttribute("x1", x);
      cursor.setAttribute("x2", x);
    }
  };
  slider.addEventListener("input", show);
  show();
}

/* -- analysis --------------------------------------------------------------------------------------------------------- */

const isText = (column) => ["text", "label", "tag", "sentence"].includes(column.kind);

function cellOf(value, column) {
  const cell = make("td", [column.second ? "second" : "", isText(column) ? "text" : ""].join(" ").trim());
  if (value === null || value === undefined) cell.textContent = "–";
  else if (column.kind === "share") {
    cell.textContent = (100 * value).toFixed(2);
    const meter = make("span", "meter"), bar = make("i");
    bar.style.width = `${100 * Math.max(0, Math.min(1, value))}%`;
    meter.append(bar);
    if (!column.bare) cell.append(meter);
  } else if (column.kind === "difference") cell.textContent = (value > 0 ? "+" : "") + (100 * value).toFixed(2);
  else if (column.kind === "p") cell.textContent = value.toFixed(4);
  else if (column.kind === "sentence") {
    const [n, word, place] = value, link = make("button", "", place);
    link.title = "show the sentence";
    link.addEventListener("click", () => showWord(n, word));
    cell.append(link);
  } else if (typeof value === "number") cell.textContent = count(value);
  else if (column.kind === "label" || column.kind === "tag") {
    const link = make("button", "", value || "_");
    link.title = "show the sentences";
    link.addEventListener("click", () => {
      find("search").value = state.query = "";
      Object.assign(state, {label: "", tag: "", wrong: state.beside >= 0, [column.kind]: value});
      syncControls();
      view("sentences");
      update();
    });
    cell.append(link);
  } else cell.textContent = value;
  return cell;
}

/* Show a sentence, and choose one of its words unless the number is 0. */
function showWord(n, word) {
  find("search").value = state.query = "";
  Object.assign(state, {label: "", tag: "", wrong: false, crossing: false, uncertified: false});
  syncControls();
  view("sentences");
  update();
  draw(n);
  if (word) choose(items.get(n), sentences[n], word - 1);
  items.get(n).article.scrollIntoView({block: "center"});
}

function buildTables() {
  const place = find("tables"), grid = make("div", "tables");
  for (const each of data.tables) {
    const box = make("div", "table"), table = make("table"), head = make("tr"), body = make("tbody"), top = make("thead");
    box.append(make("h3", "", each.title));
    if (each.note) box.append(make("p", "note", each.note));
    for (const column of each.columns) {
      const cell = make("th", isText(column) ? "text" : "", column.name);
      cell.scope = "col";
      head.append(cell);
    }
    top.append(head);
    for (const row of each.rows) {
      const line = make("tr");
      row.forEach((value, i) => line.append(cellOf(value, each.columns[i])));
      body.append(line);
    }
    table.append(top, body);
    box.append(table);
    grid.append(box);
  }
  place.replaceChildren(grid);
}

/* -- controls --------------------------------------------------------------------------------------------------------- */

function fillSelect(select, names, counts) {
  const order = names.map((name, i) => i).filter((i) => names[i]).sort((a, b) => counts[b] - counts[a]);
  for (const i of order) {
    const option = make("option", "", `${names[i]} (${count(counts[i])})`);
    option.value = names[i];
    select.append(option);
  }
  select.hidden = order.length === 0;
}

function fillControls() {
  const labels = data.labels.map(() => 0), tags = data.tags.map(() => 0);
  for (const sentence of sentences) {
    for (const label of sentence.l[0]) labels[label]++;
    for (const tag of sentence.t) tags[tag]++;
  }
  fillSelect(find("label"), data.labels, labels);
  fillSelect(find("tag"), data.tags, tags);
  const compared = data.trees.length > 1, known = sentences.some((s) => certificateOf(s)), sure = sentences.some((s) => s.c || s.q !== undefined);
  find("only-wrong").hidden = !compared;
  find("only-uncertified").hidden = !known;
  for (const [order, wanted] of [["wrong", compared], ["certificate", known], ["unsure", sure]]) find("sort").querySelector(`[value=${order}]`).hidden = !wanted;
  data.pairs.forEach(([above, beside], i) => {
    const option = make("option", "", beside < 0 ? data.trees[above].name : `${data.trees[above].name} / ${data.trees[beside].name}`);
    option.value = i;
    find("pair").append(option);
  });
  find("pair").hidden = data.pairs.length < 2;
  for (const [value, text, title] of data.tiles) {
    const tile = make("div", "tile");
    if (title) tile.title = title;
    tile.append(make("b", "", value), make("span", "", text));
    find("tiles").append(tile);
  }
  legend(compared, sure);
  find("tab-analysis").hidden = !data.tables.length;
}

function legend(compared, sure) {
  const gold = state.beside >= 0 && data.trees[state.beside].gold, rows = [["cross", "crosses another"]];
  if (compared && state.beside >= 0) {
    rows.unshift(["right", gold ? "right" : "in both trees"], ["wrong", gold ? "wrong head" : "another head"], ["label-differs", gold ? "wrong label" : "another label"], ["other", `${data.trees[state.beside].name}, below`]);
  }
  if (sure) rows.push(["shade", "uncertain"]);
  find("legend").replaceChildren(...rows.map(([kind, text]) => {
    const line = make("li"), svg = shape("svg", {class: "tree", width: 34, height: 14, "aria-hidden": "true"});
    if (kind === "shade") svg.append(shape("rect", {class: "shade", x: 2, y: 1, width: 30, height: 12, rx: 4, "fill-opacity": 0.6}));
    else {
      const group = shape("g", {class: `arc ${kind}`});
      group.append(shape("path", {class: "line", d: "M1 7H26"}), shape("path", {class: "tip", d: "M33 7L26 3V11Z"}));
      svg.append(group);
    }
    line.append(svg, document.createTextNode(text));
    return line;
  }));
}

function syncControls() {
  for (const name of ["wrong", "crossing", "uncertified"]) find(`only-${name}`).setAttribute("aria-pressed", state[name]);
  find("label").value = state.label;
  find("tag").value = state.tag;
  find("sort").value = state.sort;
}

function toggle(name) {
  if (find(`only-${name}`).hidden) return;
  state[name] = !state[name];
  syncControls();
  update();
}

function view(name) {
  for (const each of ["sentences", "analysis"]) {
    find(each).hidden = each !== name;
    find(`tab-${each}`).setAttribute("aria-selected", each === name);
    find(`tab-${each}`).tabIndex = each === name ? 0 : -1;
  }
  find("controls").hidden = name !== "sentences";
  if (name === "analysis" && !find("tables").childElementCount) buildTables();
  scrollTo(0, 0);
}

function go(step) {
  if (!shown.length) return;
  if (current < 0) {
    const top = shown.findIndex((n) => items.get(n).article.getBoundingClientRect().bottom > document.querySelector("header").offsetHeight + 40);
    current = top < 0 || scrollY < 5 ? (step > 0 ? 0 : shown.length - 1) : top;
  } else current = Math.max(0, Math.min(shown.length - 1, current + step));
  document.querySelector("article[aria-current]")?.removeAttribute("aria-current");
  const item = items.get(shown[current]);
  draw(shown[current]);
  item.article.setAttribute("aria-current", "true");
  item.article.scrollIntoView({block: "start"});
  item.scroll.focus({preventScroll: true});
}

function nextTheme() {
  const root = document.documentElement, dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const order = dark ? ["", "light", "dark"] : ["", "dark", "light"], old = root.dataset.theme || "";
  const theme = order[(order.indexOf(old) + 1) % 3];
  if (theme) root.dataset.theme = theme;
  else delete root.dataset.theme;
  find("theme").setAttribute("aria-label", `colours: ${theme || "as the system"}`);
  try { localStorage.setItem("nonproj-theme", theme); } catch { /* the page's place has no storage */ }
}

function nextOrder() {
  const options = [...find("sort").options].filter((option) => !option.hidden).map((option) => option.value);
  state.sort = options[(options.indexOf(state.sort) + 1) % options.length];
  syncControls();
  update();
}

const KEYS = {
  j: () => go(1), k: () => go(-1), "/": () => find("search").focus(), "?": () => find("help").showModal(),
  w: () => toggle("wrong"), c: () => toggle("crossing"), n: () => toggle("uncertified"), s: nextOrder, t: nextTheme,
  f: () => find("list").classList.toggle("fit"),
  a: () => { if (data.tables.length) view(find("analysis").hidden ? "analysis" : "sentences"); },
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || find("help").open) return;
  const typing = event.target.matches("input[type=search], select");
  if (event.key === "Escape" && typing) {
    if (event.target === find("search") && find("search").value) {
      find("search").value = state.query = "";
      update();
    }
    event.target.blur();
  }
  if (typing || !(event.key in KEYS)) return;
  event.preventDefault();
  KEYS[event.key]();
});

let waiting = 0;
find("search").addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => { state.query = find("search").value; update(); }, 120);
});
for (const name of ["label", "tag", "sort"]) find(name).addEventListener("change", (event) => { state[name] = event.target.value; update(); });
for (const name of ["wrong", "crossing", "uncertified"]) find(`only-${name}`).addEventListener("click", () => toggle(name));
find("pair").addEventListener("change", (event) => {
  [state.above, state.beside] = data.pairs[Number(event.target.value)];
  legend(true, sentences.some((s) => s.c));
  redrawAll();
});
find("reset").addEventListener("click", () => {
  Object.assign(state, {query: "", label: "", tag: "", wrong: false, crossing: false, uncertified: false});
  find("search").value = "";
  syncControls();
  update();
});
find("theme").addEventListener("click", nextTheme);
find("help-button").addEventListener("click", () => find("help").showModal());
for (const name of ["sentences", "analysis"]) find(`tab-${name}`).addEventListener("click", () => view(name));
document.querySelector(".tabs").addEventListener("keydown", (event) => {
  if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
  const other = find("analysis").hidden ? "analysis" : "sentences";
  if (find(`tab-${other}`).hidden) return;
  view(other);
  find(`tab-${other}`).focus();
});
new ResizeObserver(() => {
  document.documentElement.style.setProperty("--header", `${document.querySelector("header").offsetHeight}px`);
}).observe(document.querySelector("header"));
addEventListener("beforeprint", () => { for (const n of shown) draw(n); });

try { const theme = localStorage.getItem("nonproj-theme"); if (theme) document.documentElement.dataset.theme = theme; } catch { /* none */ }
fillControls();
update();
const wanted = /^#s([0-9]+)$/.exec(location.hash);
if (wanted && items.has(wanted[1] - 1)) {
  draw(wanted[1] - 1);
  items.get(wanted[1] - 1).article.scrollIntoView();
}
