/* Out of the page: CoNLL-U, tables, and sentences as text. */

import {data, list, make, sentences, state} from "./page.js";
import {columnIn} from "./finding.js";

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

const COLUMNS = ["line", "sent_id", "id", "form", "lemma", "upos", "deprel", "head", "text"];

/* A row for each word that the filters find, or for each sentence if they choose no words, with tabs between columns. */
function tableOf() {
  const chosen = list.shown.map((n) => sentences[n]), rows = [];
  for (const sentence of chosen) {
    const start = [sentence.p, sentence.i || ""], text = textOf(sentence), heads = sentence.h[state.above];
    if (!sentence.found.length) rows.push([...start, "", "", "", "", "", "", text]);
    for (const i of sentence.found) {
      const columns = ["form", "lemma", "upos"].map((key) => columnIn(sentence, key, i)), label = data.labels[sentence.l[state.above][i]] || "_";
      rows.push([...start, i + 1, ...columns, label, heads[i] < 0 ? "_" : heads[i], text]);
    }
  }
  return [COLUMNS, ...rows].map((row) => `${row.map((cell) => String(cell).replace(/[\t\r\n]/g, " ")).join("\t")}\n`).join("");
}

function save(name, parts, type) {
  const link = make("a");
  link.href = URL.createObjectURL(new Blob(parts, {type: `${type};charset=utf-8`}));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

export const EXPORTS = {
  conllu: () => save("found.conllu", list.shown.map((n) => `${linesOf(sentences[n]).join("\n")}\n\n`), "text/plain"),
  table: () => save("found.tsv", [tableOf()], "text/tab-separated-values"),
  text: () => save("found.txt", list.shown.map((n) => `${textOf(sentences[n])}\n`), "text/plain"),
};
