/* Out of the page: links, CoNLL-U, tables, and sentences as text. */

import {parseFields} from "./syntax.js";
import {data, list, make, sentences, state} from "./page.js";
import {columnIn, search, valuesOf} from "./finding.js";

export async function copy(text, button) {
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
export function textOf(sentence) {
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
    for (const n of list.shown) rows.push([sentences[n].p, sentences[n].i || "", sentences[n].w.length, textOf(sentences[n])]);
  } else {
    const fields = search.fields.length ? search.fields : parseFields(["form", "lemma", "upos", "deprel", "head.form", ...query.names.map((name) => `${name}.form`)].join(","), query.names);
    rows.push(["line", "sent_id", "id", ...query.names, ...fields.map((field) => field.text), "text"]);
    for (const n of list.shown) {
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

export const EXPORTS = {
  conllu: () => save("found.conllu", list.shown.map((n) => conllOf(sentences[n])), "text/plain"),
  table: () => save("found.tsv", [tableOf()], "text/tab-separated-values"),
  text: () => save("found.txt", list.shown.map((n) => `${textOf(sentences[n])}\n`), "text/plain"),
};
