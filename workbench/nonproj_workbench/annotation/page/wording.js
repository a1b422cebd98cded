/* The table of the words: every column can be edited in its cell; only the rows in view exist. */

const LINE = 33;
const COLUMNS = [
  {name: "id", title: "ID"}, {name: "form", title: "FORM"}, {name: "lemma", title: "LEMMA"}, {name: "upos", title: "UPOS"}, {name: "xpos", title: "XPOS"},
  {name: "feats", title: "FEATS"}, {name: "head", title: "HEAD"}, {name: "deprel", title: "DEPREL"}, {name: "sure", title: "SURE"}, {name: "deps", title: "DEPS"}, {name: "misc", title: "MISC"},
];
const table = {columns: [], rows: [], active: "form"};

/* The rows of the table: words, and before them the multiword tokens and the empty nodes, which have no number. */
function rowsOf() {
  const rows = [], {multiword, empty} = sentence;
  for (const node of empty || []) if (node.id.startsWith("0.")) rows.push({kind: "empty", node});
  sentence.words.forEach((_, k) => {
    const m = k + 1;
    for (const token of multiword || []) if (token.first === m) rows.push({kind: "multiword", token});
    rows.push({kind: "word", m});
    for (const node of empty || []) if (node.id.split(".")[0] === String(m)) rows.push({kind: "empty", node});
  });
  return rows;
}

function showTable() {
  const used = (name) => sentence.words.some((each) => absent(each[name])), columns = COLUMNS.filter(({name}) => (name === "deps" ? used("deps") : name !== "sure" || file.confidence));
  table.rows = rowsOf();
  if (columns.length !== table.columns.length) {
    table.columns = columns;
    find("columns").replaceChildren(...columns.map(({name, title}) => {
      const cell = make("th", name, title);
      cell.scope = "col";
      return cell;
    }));
  }
  find("table").firstElementChild.setAttribute("aria-rowcount", table.rows.length + 1);
  linesInView.show(table.rows.length);
}

function buildLine(k) {
  const row = table.rows[k], line = make("tr", row.kind);
  line.setAttribute("aria-rowindex", String(k + 2));
  if (row.kind === "word") fillWord(line, row.m);
  else fillToken(line, row);
  return line;
}

function fillWord(line, m) {
  const each = word(m), other = sameWords() ? sentence.other?.words[m - 1] : null, differing = isDisputed(m) ? differencesOf(m) : [];
  line.dataset.m = m;
  line.classList.toggle("chosen", m === chosen);
  line.classList.toggle("changed", drawn.changed.has(m));
  for (const {name} of table.columns) {
    if (name === "sure") {
      line.append(sureness(m));
      continue;
    }
    const value = name === "head" ? each.head : name === "id" ? each.id : name === "misc" ? bareMisc(each.misc) : absent(each[name]), cell = make("td", name, value === null ? "" : String(value));
    cell.dataset.column = name;
    cell.tabIndex = m === chosen && name === table.active ? 0 : -1;
    if (name === "form" || name === "lemma") cell.dir = "auto";
    if (name === "head" && each.head) cell.append(make("span", "faint", ` ${word(each.head).form}`));
    if (each.decided.includes(name) && (!file.compare || differencesOf(m).length)) cell.classList.add("decided");
    if (differing.includes(name) && other) cell.append(make("span", "second", `≠ ${absent(other[name]) || "_"}`));
    line.append(cell);
  }
}

/* How certain the arc of a word is: the less certain one of head and label. */
function sureness(m) {
  const {p} = word(m), cell = make("td", "sure", p && !isDecided(m) ? percent(Math.min(p.head, p.label ?? 1)) : "");
  if (isUnsure(m)) cell.classList.add("low");
  return cell;
}

function fillToken(line, {kind, token, node}) {
  for (const {name} of table.columns) {
    const value = kind === "multiword" ? {id: `${token.first}-${token.last}`, form: token.form, misc: token.misc}[name] : node[name];
    const cell = make("td", name, absent(value));
    cell.dir = "auto";
    line.append(cell);
  }
  if (kind !== "multiword") return;
  line.dataset.token = token.first;
  line.title = "one token in the text: click to change or remove it";
}

/* Puts the rows in view between two rows as high as those that are not. */
function placeLines(first, lines, after) {
  const focused = document.activeElement?.closest?.("#words td")?.dataset.column, pad = (count) => {
    const line = make("tr", "pad"), cell = make("td");
    line.setAttribute("aria-hidden", "true");
    cell.colSpan = table.columns.length;
    cell.style.height = `${LINE * count}px`;
    line.append(cell);
    return line;
  };
  find("words").replaceChildren(...(first ? [pad(first)] : []), ...lines, ...(after ? [pad(after)] : []));
  if (focused) cellOf(chosen, focused)?.focus({preventScroll: true});
}

const linesInView = new RowsInView(find("table"), LINE, buildLine, placeLines);

const cellOf = (m, column) => find("words").querySelector(`tr[data-m="${m}"] td[data-column="${column}"]`);

function showRow(m) {
  const k = table.rows.findIndex((row) => row.m === m);
  linesInView.reveal(k, LINE);
  for (const line of find("words").children) line.classList.toggle("chosen", Number(line.dataset.m) === m);
  for (const cell of find("words").querySelectorAll('td[tabindex="0"]')) cell.tabIndex = -1;
  const cell = cellOf(m, table.active);
  if (cell) cell.tabIndex = 0;
}

/* -- editing --------------------------------------------------------------------------------------------------------- */

/* MISC without the attributes in which decisions are stored, and these alone: they are not edited by hand. */
const isMark = (item) => /^(Head|NotHead|Deprel)=/.test(item);
const bareMisc = (misc) => absent(misc).split("|").filter((item) => !isMark(item)).join("|");
const marksOf = (misc) => absent(misc).split("|").filter(isMark).join("|");

const LISTS = {upos: "upos", xpos: "xpos", feats: "feats", deprel: "labels"};

/* Opens the field for a column of a word; Tab goes on to the next column. */
function editColumn(m, name, anchor) {
  if (name === "id" || !sentence) return;
  const each = word(m), value = name === "head" ? (each.head === null ? "" : String(each.head)) : name === "misc" ? bareMisc(each.misc) : absent(each[name]), known = LISTS[name] && file[LISTS[name]];
  if (!file.editable) return notice("The file is open for reading only.", null, "bad");
  table.active = name;
  const spot = anchor || cellOf(m, name) || find("about");
  choose({
    title: `${name.toUpperCase()} of ${nameOf(m)}`, anchor: spot, value, options: known && known.length ? known : null, free: true,
    note: name === "head" ? "the number of the head, 0 for the root; empty to leave it to the parser" : undefined,
    pick: (text) => setColumn(m, name, text.trim()),
    move: (step) => {
      const names = table.columns.map((column) => column.name).filter((each) => each !== "id" && each !== "sure"), at = names.indexOf(name) + step;
      if (names[at]) editColumn(m, names[at]);
      else if (m + step >= 1 && m + step <= sentence.words.length) {
        select(m + step);
        editColumn(m + step, names.at(step > 0 ? 0 : -1));
      }
    },
  });
}

function setColumn(m, name, text) {
  if (name === "head") {
    if (!text) return edit({op: "free", word: m});
    const head = Number(text);
    if (!/^[0-9]+$/.test(text) || head > sentence.words.length) return notice(`“${text}” is no head: a number from 0 to ${sentence.words.length} was expected.`, null, "bad");
    return setHead(m, head);
  }
  if (name === "deprel") return edit({op: "deprel", word: m, value: text || "_"});
  if (name === "form" && !text) return notice("A word must have a form; join it with another one instead.", null, "bad");
  const value = name === "misc" ? [text, marksOf(word(m).misc)].filter(Boolean).join("|") : text;
  return edit({op: "column", word: m, column: name, value: value || "_"});
}

function chooseLabel(m, anchor) {
  editColumn(m, "deprel", anchor || drawn.svg.querySelector(`.label[data-word="${m}"]:not(.other):not(.forbidden)`) || undefined);
}

function setHead(m, head) {
  if (!file.editable) return notice("The file is open for reading only.", null, "bad");
  if (head === m) return notice("A word is not its own head.", null, "bad");
  edit({op: "head", word: m, head});
}

find("words").addEventListener("click", (event) => {
  const cell = event.target.closest("td"), line = event.target.closest("tr");
  if (!cell || !line) return;
  if (line.dataset.token) return chooseMultiword(Number(line.dataset.token));
  const m = Number(line.dataset.m);
  if (!m) return;
  if (cell.dataset.column) table.active = cell.dataset.column;
  select(m);
  cellOf(m, table.active)?.focus({preventScroll: true});
  if (cell.dataset.column && cell.dataset.column !== "id") editColumn(m, cell.dataset.column);
});
find("words").addEventListener("keydown", (event) => {
  const cell = event.target.closest("td[data-column]");
  if (!cell || event.ctrlKey || event.altKey || event.metaKey) return;
  const names = table.columns.map((column) => column.name).filter((each) => each !== "sure"), at = names.indexOf(table.active);
  const moves = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]};
  if (event.key in moves) {
    const [down, right] = moves[event.key];
    table.active = names[Math.max(0, Math.min(names.length - 1, at + right))];
    select(chosen + down);
    cellOf(chosen, table.active)?.focus({preventScroll: true});
  } else if (event.key === "Enter" || event.key === "F2") editColumn(chosen, table.active);
  else if (event.key === "Escape") find("scroll").focus();
  else return;
  event.preventDefault();
  event.stopPropagation();
});
