/* Beside the sentence: what the last decision changed, the best trees, the validator's messages, the other annotator. */

/* -- the proof ------------------------------------------------------------------------------------------------------- */

/* The certificate in words. */
function proofOf() {
  const {proof, words, done, problem, demand} = sentence, decisions = words.reduce((sum, each) => sum + (each.decided.length || (each.forbidden || []).length ? 1 : 0), 0);
  if (done) return {kind: "good", text: "✓ accepted: all its arcs are decided"};
  if (!proof && file.compare && !problem) {
    const left = new Set((sentence.differs || []).filter((each) => !each.settled).map((each) => each.word)).size;
    return left ? {kind: "open", text: `≠ ${several(left, "differing word")} left`} : {kind: "good", text: "✓ no word differs any more"};
  }
  if (demand?.waiting) return {kind: "open", text: `computing the tree of ${several(words.length, "word")} … other sentences do not wait, and an edit of this one discards it`};
  if (!proof) return {kind: problem ? "open" : "", text: problem ? `△ ${problem}` : file.model ? "the tree of the file, which is not the model's best one" : "no model: heads are not predicted"};
  const arcs = coveredArcs(proof, words.length), obeys = decisions ? ` that obeys your ${several(decisions, "decision")}` : "";
  if (proof.certified) return {kind: "good", text: `✓ over ${arcs}, no tree${obeys} scores higher`, decisions};
  return {kind: "open", text: `○ over ${arcs}, another tree${obeys} may score ${proof.gap === null ? "" : `up to ${Number(proof.gap).toPrecision(2)} `}higher`, decisions};
}

function showProof() {
  const {kind, text, decisions} = proofOf(), place = find("proof"), {proof, words} = sentence;
  place.replaceChildren(...(decisions === undefined ? [text] : showCertificate(text, "", proof, words.length, decisions)));
  place.className = `proof ${kind}`;
  find("compute").hidden = !sentence.demand || sentence.demand.waiting || sentence.done;
}

/* Asks for the tree of a long sentence; `poll` shows it when it is there. */
async function compute() {
  await whenDrained();
  try {
    present(await ask(`sentence/${sentence.i}/tree`, {version: sentence.version}), new Set());
  } catch (error) {
    report(error);
  }
}

find("compute").addEventListener("click", compute);

/* -- changes --------------------------------------------------------------------------------------------------------- */

/* A value of a column in words. */
const shownValue = (column, value) => {
  if (column !== "head") return absent(value) || "_";
  const head = absent(value);
  return head === "" ? "none" : Number(head) > sentence.words.length ? head : nameOf(Number(head));
};

function showChanges(changes) {
  find("changes-part").hidden = !changes.length;
  find("changes").replaceChildren(...changes.map(({word: m, column, before, after}) => {
    const row = make("li"), link = button("", "choose the word", () => select(m), "line");
    link.append(make("b", "", sentence.words[m - 1] ? nameOf(m) : String(m)), make("span", "faint", ` ${column.toUpperCase()} `));
    link.append(make("s", "", shownValue(column, before)), make("span", "", " → "), make("span", "", shownValue(column, after)));
    row.append(link);
    return row;
  }));
}

/* -- best trees ------------------------------------------------------------------------------------------------------ */

const best = {trees: [], timer: 0, key: ""};

/* Asks for the best trees and the messages, a moment after the last edit. */
function refreshAsides(wait) {
  clearTimeout(best.timer);
  const key = `${sentence.i} ${sentence.version}`;
  if (!best.key.startsWith(`${sentence.i} `)) for (const name of ["best", "messages", "message-count"]) find(name).replaceChildren();
  best.key = key;
  best.trees = [];
  best.timer = setTimeout(async () => {
    const current = () => sentence && best.key === key;
    find("best-part").hidden = !file.model || sentence.words.length > file.at_once;
    if (!find("best-part").hidden) {
      await ask(`sentence/${sentence.i}/best?k=5`).then((answer) => { if (current()) showBest(answer.trees); }, (error) => { if (current()) asideFails("best", error); });
    }
    if (!current()) return;
    await ask(`sentence/${sentence.i}/check`).then((answer) => { if (current()) showMessages(answer.messages); }, (error) => { if (current()) asideFails("messages", error); });
  }, wait);
}

function asideFails(name, error) {
  if (!(error instanceof Lost)) find(name).replaceChildren(make("li", "faint", error.message));
}

const rounded = (score) => (score < 100 ? score.toPrecision(2) : Math.round(score).toLocaleString("en"));

function showBest(trees) {
  best.trees = trees;
  find("best").replaceChildren(...trees.map((tree, k) => {
    const row = make("li"), take = button("", `take this tree (${k + 1})`, () => takeTree(k), "tree-choice"), differs = tree.differs || [];
    const head = make("span", "choice-head"), difference = tree.difference ? `−${rounded(Math.abs(tree.difference))}` : k ? "the same score" : "best";
    head.append(make("kbd", "", `${k + 1}`), make("b", "", difference));
    if (!tree.certified) head.append(make("span", "faint", " not proven"));
    take.append(head);
    if (k && !differs.length) take.append(make("span", "faint", "other labels"));
    for (const m of differs.slice(0, 4)) take.append(make("span", "choice-line", `${nameOf(m)}: ${absent(tree.labels[m - 1])} of ${nameOf(tree.heads[m - 1])}`));
    if (differs.length > 4) take.append(make("span", "faint", `and ${several(differs.length - 4, "more word")}`));
    if (!differs.length && !k) take.append(make("span", "faint", "the tree that is shown"));
    const preview = (on) => { drawn.preview = on && k ? tree : null; draw(); };
    for (const [event, on] of [["pointerenter", true], ["pointerleave", false], ["focus", true], ["blur", false]]) take.addEventListener(event, () => preview(on));
    row.append(take);
    return row;
  }));
}

function takeTree(k) {
  const tree = best.trees[k];
  if (!tree) return;
  drawn.preview = null;
  edit({op: "tree", heads: tree.heads, labels: tree.labels});
}

/* -- messages -------------------------------------------------------------------------------------------------------- */

function showMessages(messages) {
  find("message-count").textContent = messages.length ? `(${messages.length})` : "";
  if (!messages.length) return find("messages").replaceChildren(make("li", "good", "✓ nothing to report"));
  const marked = new Set(messages.map((each) => each.word).filter(Boolean));
  for (const part of drawn.svg.querySelectorAll(".word")) part.classList.toggle("faulty", marked.has(Number(part.dataset.word)));
  const kinds = Map.groupBy ? Map.groupBy(messages, ({id}) => id) : new Map([["", messages]]);
  find("messages").replaceChildren(...[...kinds.values()].flatMap(messageRows));
}

/* The rows of the messages of a kind, of which all but the first are folded away if they are many. */
function messageRows(messages) {
  const rows = messages.slice(0, 500).map(({word: m, text, id, level}) => {
    const row = make("li", level < 3 ? "serious" : ""), link = button("", id || "", () => { if (m) select(m); }, "line");
    if (m && sentence.words[m - 1]) link.append(make("b", "", `${nameOf(m)}: `));
    link.append(make("span", "", text));
    row.append(link);
    return row;
  });
  if (rows.length < 4) return rows;
  const row = make("li"), folded = make("details"), inside = make("ul");
  inside.append(...rows.slice(1));
  folded.append(make("summary", "", `${messages.length - 1} more of this kind`), inside);
  row.append(folded);
  return [rows[0], row];
}

/* -- two annotators -------------------------------------------------------------------------------------------------- */

/* The columns of a word in which the two annotators differ. */
const differencesOf = (m) => (sentence.differs || []).filter((each) => each.word === m).map((each) => each.column);
const isDisputed = (m) => (sentence.differs || []).some((each) => each.word === m && !each.settled);
const sameWords = () => !(sentence.differs || []).some((each) => each.word === 0);

function showDiffers() {
  find("differs-part").hidden = !file.compare;
  if (!file.compare) return;
  const words = [...new Set((sentence.differs || []).map((each) => each.word))];
  find("take-first").textContent = `All of ${file.compare.first}`;
  find("take-second").textContent = `All of ${file.compare.second}`;
  if (!sameWords()) find("differs").replaceChildren(make("li", "", "The two have different words here: take the sentence of one of them."));
  else find("differs").replaceChildren(...(words.length ? words.map(differingRow) : [make("li", "good", "✓ both are the same")]));
}

function differingRow(m) {
  const row = make("li", isDisputed(m) ? "" : "settled"), one = sentence.first ? sentence.first.words[m - 1] : word(m), two = sentence.other.words[m - 1], columns = differencesOf(m), text = (each) => {
    const arc = columns.includes("head") || columns.includes("deprel") ? [`${absent(each.deprel) || "_"} of ${each.head === null ? "none" : nameOf(each.head)}`] : [];
    return [...arc, ...columns.filter((name) => name !== "head" && name !== "deprel").map((name) => `${name.toUpperCase()} ${absent(each[name]) || "_"}`)].join(", ");
  };
  row.append(button(isDisputed(m) ? nameOf(m) : `✓ ${nameOf(m)}: ${text(word(m))}`, "choose the word", () => select(m), "line strong"));
  for (const [source, each] of [["first", one], ["second", two]]) {
    const take = button("", `take the ${source} annotator's (${source === "first" ? "," : "."})`, () => takeSide(m, source), `side ${source}`);
    take.append(make("kbd", "", source === "first" ? "," : "."), make("span", "", text(each)));
    row.append(take);
  }
  return row;
}

function takeSide(m, source) {
  if (!m || !file.compare) return;
  edit(sameWords() ? {op: "take", word: m, source} : {op: "take_all", source});
}

/* A click on an arc below the words: of a suggestion, or of the other annotator. */
function takeOther(m) {
  if (drawn.preview) edit({op: "arc", word: m, head: drawn.preview.heads[m - 1], value: drawn.preview.labels[m - 1]});
  else takeSide(m, "second");
}

async function showAgreement() {
  try {
    const answer = await ask("agreement"), rows = [], body = make("div");
    for (const [name, value] of Object.entries(answer)) if (value && typeof value === "object" && "agreement" in value) rows.push([name, value]);
    const grid = make("table"), head = make("tr");
    head.append(make("th", "text", ""), make("th", "", "agreement"), make("th", "", "Cohen's kappa"));
    grid.append(head, ...rows.map(([name, {agreement, kappa}]) => {
      const line = make("tr");
      line.append(make("td", "text", name), make("td", "", (100 * agreement).toFixed(2)), make("td", "", kappa === null || kappa === undefined ? "–" : kappa.toFixed(3)));
      return line;
    }));
    body.append(make("p", "faint", `${several(answer.sentences, "sentence")}, ${several(answer.words, "word")}`), grid);
    const pairs = answer.disagreements || [];
    if (pairs.length) {
      const list = make("ul");
      list.append(...pairs.slice(0, 12).map(([one, two, count]) => make("li", "", `${one} ≠ ${two}: ${count.toLocaleString("en")}`)));
      body.append(make("h3", "", "Most frequent disagreements on labels"), list);
    }
    find("agreement-content").replaceChildren(body);
    find("agreement").showModal();
  } catch (error) {
    report(error);
  }
}

find("take-first").addEventListener("click", () => edit({op: "take_all", source: "first"}));
find("take-second").addEventListener("click", () => edit({op: "take_all", source: "second"}));
find("agreement-button").addEventListener("click", showAgreement);
