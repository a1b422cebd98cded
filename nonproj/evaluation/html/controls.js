/* Filters, keys and the start of the page. */

import {shape} from "../../pictures/tree.js";
import {count, data, find, items, list, make, sentences, state} from "./page.js";
import {readFragment} from "./links.js";
import {draw, makeCurrent} from "./drawing.js";
import {change, redrawAll, showOnly, syncControls, update} from "./results.js";
import {view} from "./analysis.js";
import {nextTheme} from "../../pictures/theme.js";

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
  const compared = data.trees.length > 1, known = sentences.some((s) => s.s), sure = sentences.some((s) => s.c || s.q !== undefined);
  find("differs").hidden = !compared;
  find("only-uncertified").hidden = !known;
  for (const [order, wanted] of [["wrong", compared], ["certificate", known], ["unsure", sure], ["confident", compared && sure]]) find("sort").querySelector(`[value=${order}]`).hidden = !wanted;
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

function toggle(name) {
  if (!find(`only-${name}`).hidden) change({[name]: !state[name]});
}

function toggleDiffering() {
  if (!find("differs").hidden) change({differs: state.differs ? "" : "any"});
}

function go(step) {
  if (!list.shown.length) return;
  if (list.current < 0) {
    const top = list.shown.findIndex((n) => items.get(n).article.getBoundingClientRect().bottom > document.querySelector("header").offsetHeight + 40);
    list.current = top < 0 || scrollY < 5 ? (step > 0 ? 0 : list.shown.length - 1) : top;
  } else list.current = Math.max(0, Math.min(list.shown.length - 1, list.current + step));
  makeCurrent(list.current);
}

function nextOrder() {
  const options = [...find("sort").options].filter((option) => !option.hidden).map((option) => option.value);
  change({sort: options[(options.indexOf(state.sort) + 1) % options.length]});
}

const KEYS = {
  j: () => go(1), k: () => go(-1), "/": () => find("text").focus(), "?": () => find("help").showModal(),
  w: toggleDiffering, c: () => toggle("crossing"), n: () => toggle("uncertified"), s: nextOrder, t: nextTheme,
  f: () => {
    state.fit = !state.fit;
    for (const item of items.values()) if (item.drawn) item.size.choose(state.fit);
  },
  a: () => { if (data.tables.length) view(find("analysis").hidden ? "analysis" : "sentences"); },
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || find("help").open) return;
  const typing = event.target.matches("input[type=search], select, summary");
  if (event.key === "Escape" && typing) {
    if (event.target.id === "text" && state.text) {
      event.target.value = state.text = "";
      update();
    }
    event.target.blur();
  }
  if (typing || !(event.key in KEYS)) return;
  event.preventDefault();
  KEYS[event.key]();
});

let waiting = 0;
find("text").addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => { state.text = find("text").value; update(); }, 150);
});
for (const name of ["differs", "label", "tag", "sort"]) find(name).addEventListener("change", (event) => { state[name] = event.target.value; update(); });
for (const name of ["crossing", "uncertified"]) find(`only-${name}`).addEventListener("click", () => toggle(name));
find("pair").addEventListener("change", (event) => {
  [state.above, state.beside] = data.pairs[Number(event.target.value)];
  legend(true, sentences.some((s) => s.c));
  redrawAll();
});
find("reset").addEventListener("click", () => showOnly({}));
find("help-button").addEventListener("click", () => find("help").showModal());
for (const name of ["sentences", "analysis"]) find(`tab-${name}`).addEventListener("click", () => view(name));
document.querySelector(".tabs").addEventListener("keydown", (event) => {
  if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
  const other = find("analysis").hidden ? "analysis" : "sentences";
  if (find(`tab-${other}`).hidden) return;
  view(other);
  find(`tab-${other}`).focus();
});
const measureHeader = () => document.documentElement.style.setProperty("--header", `${document.querySelector("header").offsetHeight}px`);
new ResizeObserver(measureHeader).observe(document.querySelector("header"));
addEventListener("beforeprint", () => { for (const n of list.shown) draw(n); });

/* Show what the page's address says. */
function start() {
  const old = `${state.above} ${state.beside}`, wanted = readFragment();
  syncControls();
  if (old !== `${state.above} ${state.beside}`) {
    legend(true, sentences.some((s) => s.c));
    redrawAll();
  } else update();
  measureHeader();
  makeCurrent(list.shown.indexOf(wanted), false);
}

addEventListener("hashchange", start);
fillControls();
start();
