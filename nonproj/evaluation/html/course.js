/* The course of dual decomposition on a sentence, iteration by iteration. */

import {drawTree, shape} from "../../pictures/tree.js";
import {make} from "./page.js";

const WIDTH = 620, HEIGHT = 150;

export function courseOf(sentence) {
  const details = make("details", "course"), last = sentence.k.length;
  details.append(make("summary", "", `Course of dual decomposition: ${last} ${last === 1 ? "iteration" : "iterations"}`));
  details.addEventListener("toggle", () => {
    if (details.open && details.childElementCount === 1) fillCourse(details, sentence);
  });
  return details;
}

/* A chart of dual values, lowest bounds and best trees by iteration, and a line in it that marks an iteration. */
function chartOf(series) {
  const values = Object.values(series).flat(), low = Math.min(...values), high = Math.max(...values), last = Math.max(1, series.dual.length - 1);
  const svg = shape("svg", {class: "chart", viewBox: `0 0 ${WIDTH + 160} ${HEIGHT + 4}`, width: WIDTH + 160, height: HEIGHT + 4});
  const place = (value, k) => `${(2 + (WIDTH * k) / last).toFixed(1)},${(2 + (HEIGHT * (high - value)) / (high - low || 1)).toFixed(1)}`;
  Object.entries({dual: "dual value", bound: "lowest bound", tree: "best tree"}).forEach(([name, text], i) => {
    const y = 20 + 20 * i;
    svg.append(shape("polyline", {class: name, fill: "none", "stroke-width": 1.8, points: series[name].map(place).join(" ")}));
    svg.append(shape("path", {class: name, "stroke-width": 1.8, d: `M${WIDTH + 15} ${y}h20`}), shape("text", {x: WIDTH + 42, y: y + 4}, text));
  });
  const line = shape("line", {y1: 2, y2: HEIGHT + 2, stroke: "currentColor", "stroke-dasharray": "3 3"});
  svg.append(line);
  return {svg, mark: (k) => ["x1", "x2"].forEach((end) => line.setAttribute(end, 2 + (WIDTH * k) / last))};
}

function fillCourse(details, sentence) {
  const course = sentence.k, last = course.length, steps = make("div", "steps"), slider = make("input"), text = make("output"), scroll = make("div", "scroll fit");
  const series = {dual: course.map((each) => each[0]), bound: [], tree: []};
  course.forEach(([dual, primal], k) => {
    series.bound.push(Math.min(dual, series.bound[k - 1] ?? dual));
    series.tree.push(Math.max(primal, series.tree[k - 1] ?? primal));
  });
  const chart = chartOf(series);
  Object.assign(slider, {type: "range", min: 1, max: last, value: last});
  slider.setAttribute("aria-label", "Iteration");
  const note = "Above: the tree at this iteration's multipliers; dashed where no automaton takes the arc. Below: arcs that only automata take (grandparent: only as a grandparent's arc).";
  steps.append(slider, text);
  details.append(chart.svg, steps, scroll, make("p", "note", note));
  const show = () => {
    const k = Number(slider.value) - 1, [dual, primal, heads, missing, extra] = course[k], bound = series.bound[k], tree = series.tree[k];
    text.textContent = `iteration ${k + 1}: bound ${bound.toFixed(2)}, tree ${tree.toFixed(2)}, gap ${Math.max(0, bound - tree).toPrecision(3)}; ${missing.length + extra.length} disputed`;
    text.title = `dual ${dual}, primal ${primal}`;
    const above = heads.map((head, i) => ({head, word: i + 1, label: "", kind: missing.includes(i + 1) ? "wrong" : "right"}));
    const below = extra.map(([head, word, which]) => ({head, word, label: which === 2 ? "grandparent" : "", kind: "other"}));
    scroll.replaceChildren(drawTree({forms: sentence.w, tags: sentence.w.map(() => ""), above, below, rightToLeft: Boolean(sentence.r), title: `Iteration ${k + 1}: ${text.textContent}`}).svg);
    chart.mark(k);
  };
  slider.addEventListener("input", show);
  show();
}
