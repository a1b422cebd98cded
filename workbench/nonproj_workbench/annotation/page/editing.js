/* The open sentence and the queue of its edits: each is sent after the one before has been answered, with the version
that it was made for. An edit without an answer is kept and sent again when the server is back. */

const queue = [];
let sending = false;
let revision = null;
let drained = [];

const pending = () => queue.length > 0;

/* Adds an edit; refused while the server cannot be reached. */
function edit(change) {
  if (!sentence) return;
  if (!file.editable) return notice("The file is open for reading only.", null, "bad");
  if (connection.lost) return notice("The server cannot be reached: this edit was not made.", null, "bad");
  queue.push({i: sentence.i, change, start: performance.now(), kept: false});
  send();
}

async function send() {
  if (sending || !queue.length) return;
  sending = true;
  const item = queue[0], slow = setTimeout(() => {
    find("proof").className = "proof open";
    find("proof").textContent = "searching for the best tree …";
  }, 400);
  try {
    const answer = await ask(`sentence/${item.i}`, {version: sentence.version, edit: item.change});
    await receive(answer, item);
    queue.shift();
  } catch (error) {
    if (error instanceof Lost) {
      item.kept = true;
      connection.back.push(send);
      lose(true);
    } else {
      queue.length = 0;
      if (error.status === 409 && error.body.sentence) superseded(error.body.sentence, item);
      else notice(error.message, null, "bad");
    }
    showProof();
  } finally {
    clearTimeout(slow);
    sending = false;
    if (!queue.length) for (const action of drained.splice(0)) action();
  }
  if (queue.length && !connection.lost) send();
}

const whenDrained = () => (queue.length ? new Promise((resolve) => drained.push(resolve)) : Promise.resolve());

/* Shows the answer to an edit: the new tree at once, the list of sentences after it. */
async function receive({sentence: newer, changed, file: listed, row, revision: number}, item) {
  const changes = changed || [], counts = item.change.op === "done" ? [] : changes;
  notice("");
  const missed = number > revision + 1;
  revision = number;
  const same = presentTree(newer, new Set(counts.filter(({column}) => column === "head" || column === "deprel").map((each) => each.word)));
  performance.measure(`edit ${item.change.op}`, {start: item.start, end: performance.now()});
  await nextFrame();
  performance.measure(`shown ${item.change.op}`, {start: item.start, end: performance.now()});
  presentRest(same);
  showChanges(counts);
  if (listed) return loadFile();
  updateRow(row);
  if (missed) refresh().catch(report);
}

/* Another window was first: its sentence is shown, and the edit is made again only if one wants it. */
function superseded(newer, item) {
  const was = sentence.i === newer.i;
  present(newer, new Set());
  updateRow();
  if (item.kept && isApplied(item.change)) return notice("Your last edit had arrived before the server went away; nothing is lost.");
  const again = was ? () => { if (sentence && sentence.i === newer.i) edit(item.change); } : null;
  notice("This sentence was changed elsewhere meanwhile; its newer state is shown, and your edit was not made.", again);
}

/* Whether the sentence shows what an edit asked for. */
function isApplied({op, word: m, head, value, column}) {
  const each = m && sentence.words[m - 1];
  if (op === "done") return sentence.done === value;
  if (!each) return false;
  if (op === "head") return each.head === head && isDecided(m);
  if (op === "deprel") return each.deprel === value && each.decided.includes("deprel");
  if (op === "column") return absent(each[column]) === absent(value);
  return false;
}

/* The row of the open sentence in the list. */
function updateRow(row) {
  const {i, words, text, done} = sentence, rows = file.sentences;
  const decided = words.filter((each) => each.decided.length).length;
  const values = row || {text: (text || words.map(({form}) => form).join(" ")).slice(0, 200), words: words.length, done: done ? 1 : 0, decided, differs: sentence.differs ? new Set(sentence.differs.filter((each) => !each.settled).map((each) => each.word)).size : undefined};
  for (const [name, value] of Object.entries(values)) if (rows[name] && value !== undefined) rows[name][i] = value;
  markRow();
}

/* -- showing a sentence ---------------------------------------------------------------------------------------------- */

/* Resolves when the next frame has been shown, or at once if nobody sees it. */
const nextFrame = () => new Promise((resolve) => {
  if (document.hidden) return resolve();
  const timer = setTimeout(resolve, 100);
  requestAnimationFrame(() => setTimeout(() => { clearTimeout(timer); resolve(); }));
});

/* Shows a state of a sentence; words in `changed` are marked in the tree. */
function present(newer, changed) {
  presentRest(presentTree(newer, changed));
}

/* Shows the tree, and returns whether it is that of the same sentence as before. */
function presentTree(newer, changed) {
  const same = sentence && sentence.i === newer.i;
  sentence = newer;
  drawn.changed = changed;
  drawn.preview = null;
  stopAttach();
  if (choosing.active && !same) closeChooser(false);
  chosen = Math.min(same ? chosen : 1, newer.words.length) || (newer.words.length ? 1 : 0);
  draw();
  if (!same) Object.assign(find("scroll"), {scrollLeft: newer.rtl ? 1e6 : 0, scrollTop: 1e6});
  showProof();
  return Boolean(same);
}

/* Shows everything else. */
function presentRest(same) {
  showTitle();
  showTable();
  if (!same) find("table").scrollTop = 0;
  showDiffers();
  select(chosen);
  refreshAsides(same ? 200 : 120);
}

function showTitle() {
  const {i, id, done, can_undo: undo, can_redo: redo, comments, text, words} = sentence;
  find("sentence-name").replaceChildren(make("b", "", `${i + 1}`), make("small", "", id && id !== String(i + 1) ? ` ${id}` : ""));
  find("sentence-name").title = id || "";
  find("text").textContent = text || words.map(({form}) => form).join(" ");
  find("text").dir = sentence.rtl ? "rtl" : "auto";
  find("accept").textContent = done ? "✓ Accepted" : "Accept";
  find("accept").setAttribute("aria-pressed", String(Boolean(done)));
  find("accept").title = done ? "open the sentence again (Shift+Enter)" : "accept the sentence and open the next one (Enter)";
  find("undo").disabled = !undo;
  find("redo").disabled = !redo;
  find("comment-count").textContent = comments.length ? `(${comments.length})` : "";
  if (document.activeElement !== find("comment-text")) find("comment-text").value = comments.join("\n");
  document.title = `${i + 1} · ${find("file").textContent}`;
  history.replaceState(null, "", `#s${i + 1}`);
}

/* Opens a sentence. */
async function visit(i, stay) {
  await whenDrained();
  if (connection.lost) return;
  try {
    const newer = await ask(`sentence/${i}`);
    notice("");
    present(newer, new Set());
    showChanges([]);
    markRow();
    if (!stay && !matchMedia("(max-width: 44rem)").matches) find("scroll").focus({preventScroll: true});
  } catch (error) {
    report(error);
  }
}

function go(step) {
  const i = neighbour(step, false);
  if (i >= 0) visit(i);
}

/* Accepts the sentence, and opens the next one that is open. */
async function accept() {
  if (!sentence || sentence.done) return go(1);
  const {i} = sentence, next = neighbour(1, true);
  edit({op: "done", value: true});
  await whenDrained();
  if (!sentence.done || sentence.i !== i) return;
  if (next >= 0) visit(next);
  else notice(file.sentences.done.every(Boolean) ? "All sentences are done." : "This was the last open sentence of the list.");
}

function reopen() {
  if (sentence && sentence.done) edit({op: "done", value: false});
}

/* -- words ----------------------------------------------------------------------------------------------------------- */

function showWordbar() {
  find("about").textContent = describe(chosen);
  const free = sentence.words[chosen - 1];
  for (const tool of find("tools").children) {
    const {needs} = tool.dataset;
    tool.disabled = needs === "decision" ? !free.decided.length && !(free.forbidden || []).length : needs === "head" ? free.head === null : needs === "next" ? chosen === sentence.words.length : false;
  }
}

/* The next word whose arc is unsure, or that differs; without one, the least confident. */
function nextUnsure(step) {
  const n = sentence.words.length, wanted = file.compare ? isDisputed : (m) => isUnsure(m) || word(m).head === null;
  for (let k = 1; k <= n; k++) {
    const m = ((((chosen - 1 + step * k) % n) + n) % n) + 1;
    if (wanted(m)) return select(m);
  }
  notice(file.compare ? "No word differs in this sentence." : "No word of this sentence is unsure.");
}

/* Accepts the arc of a word, and goes on to the next one. */
function keep() {
  if (word(chosen).head === null) return notice("This word has no head yet: a attaches it.");
  if (word(chosen).decided.length < 2) edit({op: "keep", word: chosen});
  whenDrained().then(() => { if (chosen < sentence.words.length) select(chosen + 1); });
}

function forbid() {
  if (word(chosen).head !== null) edit({op: "forbid", word: chosen, head: word(chosen).head});
}

/* -- attaching by keys ----------------------------------------------------------------------------------------------- */

const attaching = {word: 0, digits: "", target: -1};

function startAttach() {
  Object.assign(attaching, {word: chosen, digits: "", target: word(chosen).head ?? -1});
  showAttach();
  find("scroll").focus({preventScroll: true});
}

function showAttach() {
  const {word: m, digits, target} = attaching;
  find("mode").hidden = !m;
  document.body.classList.toggle("attaching", Boolean(m));
  if (!drawn.svg) return;
  markTarget(m ? target : -1);
  if (!m) return;
  find("mode").textContent = `Attach ${nameOf(m)} to ${target < 0 ? `${digits}…` : nameOf(target)} — a number, arrows, or a click; 0 is the root; Enter sets it, Esc leaves`;
  if (target > 0) reveal(target);
}

function attachKey(event) {
  const {words} = sentence, step = sentence.rtl ? -1 : 1, from = attaching.target < 0 ? attaching.word : attaching.target;
  const moves = {ArrowRight: from + step, ArrowLeft: from - step, Home: 1, End: words.length};
  if (/^[0-9]$/.test(event.key)) {
    attaching.digits += event.key;
    if (Number(attaching.digits) > words.length) attaching.digits = event.key;
    attaching.target = Number(attaching.digits) <= words.length ? Number(attaching.digits) : -1;
  } else if (event.key in moves) {
    let target = Math.max(1, Math.min(words.length, moves[event.key]));
    if (target === attaching.word) target = Math.max(1, Math.min(words.length, target + Math.sign(moves[event.key] - from)));
    Object.assign(attaching, {target, digits: ""});
  } else if (event.key === "r" || event.key === "ArrowUp") Object.assign(attaching, {target: 0, digits: ""});
  else if (event.key === "Backspace") Object.assign(attaching, {digits: attaching.digits.slice(0, -1), target: attaching.digits.length > 1 ? Number(attaching.digits.slice(0, -1)) : -1});
  else if (event.key === "Enter") return finishAttach(attaching.target);
  else if (event.key === "Escape") return stopAttach();
  else return;
  showAttach();
}

function finishAttach(target) {
  const m = attaching.word;
  stopAttach();
  if (target >= 0 && m) setHead(m, target);
}

function stopAttach() {
  attaching.word = 0;
  showAttach();
}

/* -- tokens ---------------------------------------------------------------------------------------------------------- */

function splitWord() {
  const {form} = word(chosen), m = chosen;
  choose({title: `Split ${nameOf(m)}`, anchor: cellOf(m, "form") || find("about"), value: form, note: "type a blank where the word ends and the next one begins", pick: (text) => {
    const forms = text.trim().split(text.includes("|") ? /\s*\|\s*/ : /\s+/).filter(Boolean);
    if (forms.length !== 2) return notice("One blank was expected, between the two words (or |, if they contain blanks).", null, "bad");
    edit({op: "split_word", word: m, forms});
  }});
}

/* A token of several words: from the chosen one to the next, or a present one, whose form is changed or removed. */
function chooseMultiword(first) {
  const token = (sentence.multiword || []).find((each) => each.first <= first && first <= each.last);
  const from = token ? token.first : first, last = token ? token.last : Math.min(sentence.words.length, first + 1);
  if (last === from) return notice("There is no next word.");
  const joined = sentence.words.slice(from - 1, last).map(({form}) => form).join("");
  choose({
    title: `Token ${from}-${last}: ${sentence.words.slice(from - 1, last).map(({form}) => form).join(" + ")}`, anchor: cellOf(from, "form") || find("about"), value: token ? token.form : "",
    note: token ? "the form in the text; empty removes the token; FROM-TO FORM changes its words" : `the form in the text, for example ${joined}; for more words, FROM-TO FORM`,
    pick: (text) => {
      const match = /^([0-9]+)-([0-9]+)\s+(\S+)$/.exec(text.trim());
      if (match) edit({op: "multiword", first: Number(match[1]), last: Number(match[2]), form: match[3]});
      else edit({op: "multiword", first: from, last, form: text.trim() || null});
    },
  });
}

find("comment-save").addEventListener("click", () => edit({op: "comment", comments: find("comment-text").value.split("\n").filter((line) => line.trim())}));
