/* The list of sentences: filters, orders, and the rows in view. */

const ROW = 56;
const listing = {filter: "all", order: "file", query: "", shown: []};

const FILTERS = {
  all: () => true,
  open: (i) => !file.sentences.done[i],
  done: (i) => file.sentences.done[i],
  differing: (i) => file.sentences.differs && file.sentences.differs[i] > 0,
};

const ORDERS = {
  file: null,
  doubt: (i) => file.sentences.doubt[i] ?? -1,
  differs: (i) => file.sentences.differs?.[i] ?? 0,
};

/* Chooses and sorts the sentences anew; the open one stays where it is in view. */
function list() {
  const {text, id} = file.sentences, query = listing.query.trim().toLocaleLowerCase(), keep = FILTERS[listing.filter], order = ORDERS[listing.order];
  const kept = [];
  for (let i = 0; i < file.n; i++) {
    if (!keep(i)) continue;
    if (query && !text[i].toLocaleLowerCase().includes(query) && !(id[i] || "").toLocaleLowerCase().includes(query)) continue;
    kept.push(i);
  }
  if (order) {
    const keys = new Map(kept.map((i) => [i, order(i)]));
    kept.sort((a, b) => keys.get(b) - keys.get(a) || a - b);
  }
  listing.shown = kept;
  find("nothing").hidden = kept.length > 0;
  find("nothing").textContent = file.n ? "No sentence is like that." : "The file has no sentences.";
  find("count").textContent = kept.length === file.n ? several(file.n, "sentence") : `${kept.length.toLocaleString("en")} of ${several(file.n, "sentence")}`;
  find("rows-inside").style.height = `${ROW * kept.length}px`;
  rowsInView.show(kept.length);
  showProgress();
}

function buildRow(k) {
  const i = listing.shown[k], {text, id, words, done, decided, doubt, differs} = file.sentences;
  const row = make("div", "row-item"), head = make("div", "row-head"), line = make("div", "row-text", text[i] || " ");
  row.id = `row-${i}`;
  row.dataset.i = i;
  row.style.transform = `translateY(${ROW * k}px)`;
  row.setAttribute("role", "option");
  row.setAttribute("aria-selected", Boolean(sentence) && sentence.i === i);
  row.setAttribute("aria-setsize", listing.shown.length);
  row.setAttribute("aria-posinset", k + 1);
  row.classList.toggle("done", Boolean(done[i]));
  head.append(make("b", "", `${i + 1}`), make("span", "row-id", id[i] && id[i] !== String(i + 1) ? id[i] : ""), make("span", "grow", ""));
  if (differs && differs[i]) head.append(sign("differs", `≠ ${differs[i]}`, several(differs[i], "differing word")));
  if (decided[i] && !done[i] && !file.compare) head.append(sign("decided", `● ${decided[i]}`, several(decided[i], "decision")));
  if (done[i]) head.append(sign("good", "✓ done", "accepted"));
  else if (doubt[i] !== null && doubt[i] !== undefined) head.append(doubtMeter(doubt[i]));
  head.append(make("span", "faint", several(words[i], "word")));
  line.dir = "auto";
  row.append(head, line);
  return row;
}

function sign(className, text, title) {
  const made = make("span", `sign ${className}`, text);
  made.title = title;
  return made;
}

function doubtMeter(doubt) {
  const meter = make("span", "meter doubt"), bar = make("i");
  meter.title = `the least certain head is wrong with probability ${doubt.toFixed(2)}`;
  bar.style.width = `${100 * doubt}%`;
  meter.append(bar);
  return meter;
}

const rowsInView = new RowsInView(find("rows"), ROW, buildRow, (first, rows) => find("rows-inside").replaceChildren(...rows));

/* Marks the open sentence, and brings it into view. */
function markRow() {
  const k = listing.shown.indexOf(sentence.i);
  rowsInView.update(true);
  if (k >= 0) {
    rowsInView.reveal(k);
    find("rows").setAttribute("aria-activedescendant", `row-${sentence.i}`);
  }
  showProgress();
}

function showProgress() {
  const done = file.sentences.done.reduce((sum, each) => sum + (each ? 1 : 0), 0);
  find("progress-text").textContent = `${done.toLocaleString("en")} of ${file.n.toLocaleString("en")} done`;
  find("progress-bar").style.width = file.n ? `${(100 * done) / file.n}%` : "0";
}

/* The sentence that is some steps away from the open one in the list; with `open`, those that are done are skipped. */
function neighbour(step, open) {
  const {shown} = listing;
  let k = shown.indexOf(sentence ? sentence.i : -1);
  if (k < 0 && step < 0) k = 0;
  for (k += step; k >= 0 && k < shown.length; k += step) if (!open || !file.sentences.done[shown[k]]) return shown[k];
  return -1;
}

function setFilter(name) {
  listing.filter = name;
  for (const each of document.querySelectorAll("[data-filter]")) each.setAttribute("aria-pressed", String(each.dataset.filter === name));
  find("rows").scrollTop = 0;
  list();
}

function openList(open) {
  document.body.classList.toggle("list-open", open);
  find("open-list").setAttribute("aria-expanded", open);
  if (open) rowsInView.update(true);
}

for (const each of document.querySelectorAll("[data-filter]")) each.addEventListener("click", () => setFilter(each.dataset.filter));
find("order").addEventListener("change", () => {
  listing.order = find("order").value;
  find("rows").scrollTop = 0;
  list();
});
let searching = 0;
find("search").addEventListener("input", () => {
  clearTimeout(searching);
  searching = setTimeout(() => { listing.query = find("search").value; list(); }, 120);
});
find("rows").addEventListener("click", (event) => {
  const row = event.target.closest("[data-i]");
  if (!row) return;
  openList(false);
  visit(Number(row.dataset.i));
});
find("rows").addEventListener("keydown", (event) => {
  const steps = {ArrowDown: 1, ArrowUp: -1};
  if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    event.stopPropagation();
    openList(false);
    return find("scroll").focus();
  }
  if (!(event.key in steps) || event.ctrlKey || event.altKey || event.metaKey) return;
  event.preventDefault();
  event.stopPropagation();
  const i = neighbour(steps[event.key], false);
  if (i >= 0) visit(i, true);
});
find("open-list").addEventListener("click", () => openList(!document.body.classList.contains("list-open")));
