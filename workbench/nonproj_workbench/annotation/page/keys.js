/* The keyboard, the buttons, and the start. */

/* Groups of keys: each key with what it does, in words and as a function unless it is one of those in `pressed`. */
/** @type {[string, [string, string, (() => void) | null][]][]} */
const KEYS = [
  ["Words", [
    ["← →", "previous, next word", null], ["Home End", "first, last word", null], ["↑", "to its head", null], ["↓", "to its first dependent", null],
    ["n", "next unsure word (two annotators: next differing one); Shift+n the one before", () => nextUnsure(1)], ["N", "", () => nextUnsure(-1)],
  ]],
  ["Decide", [
    ["a", "attach the word: then a number or arrows, and Enter", startAttach], ["l", "choose its label", () => chooseLabel(chosen)],
    ["Space", "accept its arc, and go to the next word", keep], ["x", "not this head", forbid], ["d", "withdraw the decisions on it", () => edit({op: "free", word: chosen})],
    ["D", "withdraw all decisions", () => edit({op: "free_all"})], ["r", "predict all undecided arcs again", () => (sentence.demand ? compute() : edit({op: "decode"}))], ["1 – 9", "take the best, second best … tree", null],
    [",", "two annotators: take the first one's", () => takeSide(chosen, "first")], [".", "the second one's", () => takeSide(chosen, "second")],
    ["u", "undo; also Ctrl+z", () => edit({op: "undo"})], ["U", "redo; also Ctrl+y", () => edit({op: "redo"})],
  ]],
  ["Sentence", [
    ["Enter", "accept it, and open the next open one", accept], ["Shift+Enter", "open it again", reopen], ["j", "next sentence", () => go(1)], ["k", "previous one", () => go(-1)],
    ["/", "search", () => { openList(true); find("search").focus(); }], ["f", "fit a wide tree, or scroll it", toggleFit],
  ]],
  ["Columns", [
    ["p", "UPOS", () => editColumn(chosen, "upos")], ["m", "lemma", () => editColumn(chosen, "lemma")], ["g", "features", () => editColumn(chosen, "feats")],
    ["e", "go to the table: arrows, Enter edits, Tab goes on, Esc leaves", () => cellOf(chosen, table.active)?.focus()], ["P", "predict missing tags", () => edit({op: "retag"})],
  ]],
  ["Tokens", [
    ["s", "split the word", splitWord], ["o", "join it with the next one", () => edit({op: "join_words", word: chosen})], ["w", "token of several words", () => chooseMultiword(chosen)],
    ["S", "split the sentence after the word", () => edit({op: "split_sentence", word: chosen})], ["O", "join with the next sentence", () => edit({op: "join_sentences"})],
  ]],
  ["Page", [["t", "light, dark", nextTheme], ["?", "these keys", showHelp], ["Esc", "leave a field or a list", null]]],
];
const ACTIONS = new Map(KEYS.flatMap(([, rows]) => rows).filter(([, , action]) => action).map(([key, , action]) => [key, action]));

function showHelp() {
  if (!find("help-keys").childElementCount) {
    find("help-keys").append(...KEYS.map(([title, rows]) => {
      const part = make("div", "help-part"), list = make("dl");
      part.append(make("h3", "", title), list);
      for (const [key, text] of rows) {
        if (!text) continue;
        const row = make("div"), name = make("dt");
        for (const each of key.split(" ")) name.append(each === "–" ? "–" : make("kbd", "", /^[A-Z]$/.test(each) ? `Shift+${each.toLowerCase()}` : each), " ");
        row.append(name, make("dd", "", text));
        list.append(row);
      }
      return part;
    }), make("p", "faint", "By mouse or touch: drag a word to its new head, or to the bar of the root; click a label to choose another; click a cell to edit it."));
  }
  find("help").showModal();
}

/* The word that an arrow key leads to, or 0. */
function moved(key) {
  const step = sentence.rtl ? -1 : 1, n = sentence.words.length;
  if (key === "ArrowDown") return sentence.words.findIndex(({head}) => head === chosen) + 1 || chosen;
  return {ArrowRight: chosen + step, ArrowLeft: chosen - step, Home: 1, End: n, ArrowUp: word(chosen).head || chosen}[key] || 0;
}

function pressed(event) {
  const {key} = event;
  if (event.ctrlKey || event.metaKey) {
    const action = key === "z" ? (event.shiftKey ? "redo" : "undo") : key === "Z" || key === "y" ? "redo" : "";
    if (!action) return false;
    edit({op: action});
    return true;
  }
  if (!sentence || !chosen) {
    if (!["j", "k", "/", "t", "?"].includes(key)) return false;
  } else if (/^[1-9]$/.test(key)) {
    takeTree(Number(key) - 1);
    return true;
  } else if (moved(key)) {
    select(moved(key));
    return true;
  }
  const name = key === " " ? "Space" : key === "Enter" && event.shiftKey ? "Shift+Enter" : key === "Delete" || key === "Backspace" ? "d" : key, action = ACTIONS.get(name);
  if (action) action();
  return Boolean(action);
}

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, textarea, select"), dialog = find("help").open || find("agreement").open;
  if (dialog || event.isComposing) return;
  if (event.key === "Escape" && drag.moving) return endDrag({}, false);
  if (typing) {
    if (event.key === "Escape") find("scroll").focus();
    return;
  }
  if (event.altKey && !event.ctrlKey) return;
  if (attaching.word && !event.ctrlKey && !event.metaKey) {
    attachKey(event);
    event.preventDefault();
    return;
  }
  if (event.key === "Escape") {
    openList(false);
    notice("");
    return find("scroll").focus();
  }
  if ((event.key === "Enter" || event.key === " ") && event.target.closest("button, summary, a")) return;
  if (pressed(event)) event.preventDefault();
});

/* -- buttons --------------------------------------------------------------------------------------------------------- */

/* Splitting and joining, from a list. */
function chooseToken() {
  const [, rows] = KEYS.find(([title]) => title === "Tokens"), names = rows.map(([key, text]) => `${text} (${/[A-Z]/.test(key) ? `Shift+${key.toLowerCase()}` : key})`);
  choose({title: nameOf(chosen), anchor: find("tools").lastElementChild, options: names, pick: (name) => rows[names.indexOf(name)][2]()});
}

const TITLES = {Attach: "attach to another head", Keep: "accept the arc", "Not this": "not this head", Free: "withdraw the decisions", "Next unsure": "go to the next unsure word", Label: "choose the label"};

/* The tools of the chosen word, for mouse and touch. */
function buildTools() {
  /** @type {[string, string, () => void, string?][]} */
  const tools = [
    ["Attach", "a", startAttach], ["Label", "l", () => chooseLabel(chosen)], ["Keep", "Space", keep, "head"], ["Not this", "x", forbid, "head"],
    ["Free", "d", () => edit({op: "free", word: chosen}), "decision"], ["Next unsure", "n", () => nextUnsure(1)],
    ["Tokens …", "", chooseToken],
  ];
  find("tools").replaceChildren(...tools.map(([name, key, action, needs]) => {
    const tool = button(name, key ? `${TITLES[name] || name.toLowerCase()} (${key})` : "split and join words, tokens and sentences", () => { if (chosen) action(); });
    tool.dataset.needs = needs || "";
    if (key) tool.append(make("kbd", "", key));
    return tool;
  }));
}

const BUTTONS = {undo: () => edit({op: "undo"}), redo: () => edit({op: "redo"}), previous: () => go(-1), next: () => go(1), "help-button": showHelp};
for (const [id, action] of Object.entries(BUTTONS)) find(id).addEventListener("click", action);
find("accept").addEventListener("click", () => (sentence?.done ? reopen() : accept()));

find("export").addEventListener("click", async () => {
  try {
    const saved = !find("saved").classList.contains("bad");  // if not, the decisions are in no other file
    const response = await fetch(`api/export?clean=${saved ? 1 : 0}`, {headers: {"X-Token": token}});
    if (!response.ok) throw new Error(`the file cannot be downloaded: status ${response.status}`);
    const link = make("a"), address = URL.createObjectURL(await response.blob());
    const [, stem, ending] = /^(.*?)(\.[^.]*)?(?:\.gz)?$/.exec(file.path.split("/").pop());
    Object.assign(link, {href: address, download: `${stem}-${saved ? "clean" : "edited"}${ending || ""}`});
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  } catch (error) {
    report(error);
  }
});
find("retrain").addEventListener("click", async () => {
  find("retrain").disabled = true;
  try {
    await ask("retrain", {});
    poll();
  } catch (error) {
    find("retrain").disabled = false;
    report(error);
  }
});

/* -- the file, and what happens elsewhere ---------------------------------------------------------------------------- */

/* Loads the list of sentences. */
async function loadFile() {
  file = await ask("file");
  revision = file.revision;
  const name = file.path.split("/").pop();
  find("file").textContent = file.compare ? `${file.compare.first} and ${file.compare.second}` : name;
  find("file").title = file.path;
  find("model").textContent = file.model ? `model ${file.model.split("/").pop()}` : "no model";
  for (const [id, on] of [["retrain", file.retrain], ["agreement-button", file.compare]]) find(id).hidden = !on;
  document.querySelector("[data-filter=differing]").hidden = find("order").querySelector("[value=differs]").hidden = !file.compare;
  find("order").querySelector("[value=doubt]").disabled = !file.confidence;
  showLegend();
  list();
  if (sentence) markRow();
}

let polling = 0, clock = 0, isTraining = false;

/* Asks once in a while whether anything has changed: by another window, by training, or at all. */
async function poll() {
  clearTimeout(polling);
  try {
    const status = await ask(`status?since=${clock}`);
    showStatus(status);
    const computed = Boolean(sentence?.demand?.waiting) && !status.computing.includes(sentence.i);
    if (!pending() && (computed || (status.revision !== revision && revision !== null))) await refresh(computed);
  } catch (error) {
    report(error);
  }
  polling = setTimeout(poll, connection.lost ? 1000 : document.hidden ? 8000 : 2000);
}

/* Fetches the list and the open sentence, which may have been changed by another window, or whose tree was asked for. */
async function refresh(computed) {
  await loadFile();
  if (!sentence) return;
  const i = Math.min(sentence.i, file.n - 1), newer = await ask(`sentence/${i}`);
  if (pending() || (newer.version === sentence.version && !computed) || choosing.active || drag.moving) return;
  present(newer, new Set());
  if (!computed) notice("This sentence was changed elsewhere; its newer state is shown.");
  else notice(newer.demand?.problem ? `There is no tree: ${newer.demand.problem}.` : "The tree has been computed.");
}

function showStatus({saved, training, model, doubt, clock: now}) {
  clock = now ?? 0;
  const failed = saved !== true && saved !== undefined;
  find("saved").textContent = failed ? `not saved: ${saved}` : "✓ saved";
  find("saved").classList.toggle("bad", failed);
  if (model && model !== file.model) find("model").textContent = `model ${String(model).split("/").pop()}`;
  if (training) {
    const running = training.state === "running";
    find("retrain").disabled = running;
    find("retrain").textContent = running ? "Training …" : "Retrain";
    find("retrain").title = training.message || "";
    if (!running && isTraining) notice(training.state === "done" ? `The model has been trained again. ${training.message || ""}` : `Training failed: ${training.message}`, null, training.state === "done" ? "" : "bad");
    isTraining = running;
  }
  if (doubt && Object.keys(doubt).length) {
    for (const [i, value] of Object.entries(doubt)) file.sentences.doubt[i] = value;
    rowsInView.update(true);
  }
}

addEventListener("beforeunload", (event) => { if (pending()) event.preventDefault(); });
document.addEventListener("visibilitychange", () => { if (!document.hidden) poll(); });

async function start() {
  try {
    await loadFile();
    const wanted = /^#s([0-9]+)$/.exec(location.hash), i = wanted ? Math.min(Number(wanted[1]), file.n) - 1 : file.sentences.done.findIndex((each) => !each);
    if (file.n) await visit(Math.max(0, i));
    performance.mark("ready");
  } catch (error) {
    if (error instanceof Lost) connection.back.push(start);
    else report(error);
  }
  poll();
}

buildTools();
start();
