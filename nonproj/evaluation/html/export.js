/* Out of the page: links, CoNLL-U, tables, and sentences as text. */

/* -- links ------------------------------------------------------------------------------------------------------------- */

const SWITCHES = ["wrong", "crossing", "uncertified"];

/* The state as the fragment of the page's address; `n` is the number of a sentence, from 0, or -1. */
function fragmentOf(n) {
  const parts = new URLSearchParams(), only = SWITCHES.filter((name) => state[name]).join(",");
  const pair = data.pairs.findIndex(([above, beside]) => above === state.above && beside === state.beside);
  const values = {q: state.query, by: state.by, pick: state.pick, label: state.label, tag: state.tag, only, sort: state.sort === "file" ? "" : state.sort, pair: pair > 0 ? pair : "", s: n < 0 ? "" : n + 1};
  for (const [name, value] of Object.entries(values)) if (value !== "" && value !== null) parts.set(name, value);
  return parts.toString();
}

function addressOf(n) {
  return `${location.href.split("#")[0]}#${fragmentOf(n)}`;
}

function writeFragment() {
  const wanted = addressOf(current < 0 ? -1 : shown[current]).replace(/#$/, "");
  if (wanted !== location.href) history.replaceState(null, "", wanted || "#");
}

/* Set the state by the fragment, and return the number of the sentence in it, or -1. */
function readFragment() {
  const plain = /^#s([0-9]+)$/.exec(location.hash);
  const parts = new URLSearchParams(plain ? `s=${plain[1]}` : location.hash.slice(1)), get = (name) => parts.get(name) || "";
  const only = get("only").split(","), pair = data.pairs[Number(get("pair"))] || data.pairs[0];
  const sort = find("sort").querySelector(`option[value="${CSS.escape(get("sort"))}"]`);
  Object.assign(state, NONE, {query: get("q"), by: get("by"), pick: parts.get("pick"), label: get("label"), tag: get("tag"), sort: sort && !sort.hidden ? get("sort") : "file", above: pair[0], beside: pair[1]});
  for (const name of SWITCHES) state[name] = only.includes(name) && !find(`only-${name}`).hidden;
  if (!data.labels.includes(state.label)) state.label = "";
  if (!data.tags.includes(state.tag)) state.tag = "";
  find("pair").value = data.pairs.indexOf(pair);
  return Number(get("s")) - 1;
}

async function copy(text, button) {
  const old = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
  } catch {  // the page's place has no clipboard, or it is not permitted
    const area = make("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  button.textContent = "copied";
  setTimeout(() => { button.textContent = old; }, 1200);
}

/* -- text -------------------------------------------------------------------------------------------------------------- */

/* The lines of a sentence in its file, with the tree that is drawn above. */
function linesOf(sentence) {
  const {h, l} = sentence, tree = state.above;
  let lines;
  if (sentence.o !== undefined) lines = sentence.o.replace(/^\ufeff/, "").split("\n").map((line) => line.replace(/\r$/, "")).filter((line) => line.trim());
  else {
    lines = sentence.w.map((form, i) => [i + 1, form, ...["lemma", "upos", "xpos", "feats"].map((key) => columnIn(sentence, key, i)), "", "", ...["deps", "misc"].map((key) => columnIn(sentence, key, i))].join("\t"));
    for (const [place, line] of sentence.z || []) lines.splice(place, 0, line.replace(/^\ufeff/, ""));
  }
  let i = 0;
  return lines.map((line) => {
    if (!/^[0-9]+\t/.test(line)) return line;
    const columns = line.split("\t"), head = h[tree][i];
    columns[6] = head < 0 ? "_" : head;
    columns[7] = data.labels[l[tree][i]] || "_";
    if (head !== h[0][i] && columns[8].includes(":")) columns[8] = "_";
    i++;
    return columns.join("\t");
  });
}

/* The text of a sentence: its comment, or its tokens with blanks where MISC has no SpaceAfter=No. */
function textOf(sentence) {
  const lines = linesOf(sentence), comment = lines.map((line) => /^# *text *= *(.*)$/.exec(line)).find(Boolean);
  if (comment) return comment[1].trim();
  let text = "", last = 0;
  for (const line of lines) {
    const columns = line.split("\t"), [, first, end] = /^([0-9]+)(?:-([0-9]+))?$/.exec(columns[0]) || [];
    if (!first || columns.length < 10 || Number(first) <= last) continue;
    last = Number(end || first);
    text += columns[1] + (columns[9].split("|").includes("SpaceAfter=No") ? "" : " ");
  }
  return text.trim();
}

function matchText(match) {
  return [match[0], ...search.query.names.map((name, i) => `${name}=${match[i + 1]}`)].join(" ");
}

/* A sentence of CoNLL-U, with a comment that names the words of each match. */
function conllOf(sentence) {
  const lines = linesOf(sentence);
  if (search.query && state.query.trim() && sentence.found.length) {
    const comment = `# nonproj matches = ${sentence.found.map(matchText).join("; ")}`, old = lines.findIndex((line) => /^# *nonproj matches *=/.test(line));
    if (old >= 0) lines[old] = comment;
    else lines.splice(lines.findIndex((line) => /^[0-9]/.test(line)), 0, comment);
  }
  return `${lines.join("\n")}\n\n`;
}

/* A row for each match, or without a query for each sentence, with tabs between columns. */
function tableOf() {
  const rows = [], {query} = search;
  if (!query) {
    rows.push(["line", "sent_id", "words", "text"]);
    for (const n of shown) rows.push([sentences[n].p, sentences[n].i || "", sentences[n].w.length, textOf(sentences[n])]);
  } else {
    const fields = search.fields.length ? search.fields : parseFields(["form", "lemma", "upos", "deprel", "head.form", ...query.names.map((name) => `${name}.form`)].join(","), query.names);
    rows.push(["line", "sent_id", "id", ...query.names, ...fields.map((field) => field.text), "text"]);
    for (const n of shown) {
      const sentence = sentences[n], text = textOf(sentence), key = (match) => valuesOf(sentence, match, search.fields).join("\t");
      const matches = state.pick !== null && search.fields.length ? search.matches[n].filter((match) => key(match) === state.pick) : search.matches[n];
      for (const match of matches) rows.push([sentence.p, sentence.i || "", ...match, ...valuesOf(sentence, match, fields), text]);
    }
  }
  return rows.map((row) => `${row.map((cell) => String(cell).replace(/[\t\r\n]/g, " ")).join("\t")}\n`).join("");
}

function save(name, parts, type) {
  const link = make("a");
  link.href = URL.createObjectURL(new Blob(parts, {type: `${type};charset=utf-8`}));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

const EXPORTS = {
  conllu: () => save("found.conllu", shown.map((n) => conllOf(sentences[n])), "text/plain"),
  table: () => save("found.tsv", [tableOf()], "text/tab-separated-values"),
  text: () => save("found.txt", shown.map((n) => `${textOf(sentences[n])}\n`), "text/plain"),
};
