/* The course of dual decomposition on a sentence, iteration by iteration. */

import {drawTree, shape} from "../../pictures/tree.js";
import {data, make} from "./page.js";

export function courseOf(sentence) {
  const details = make("details", "course"), course = sentence.k, last = course.length;
  details.append(make("summary", "", `Course of dual decomposition: ${last} ${last === 1 ? "iteration" : "iterations"}`));
  details.addEventListener("toggle", () => {
    if (details.open && details.childElementCount === 1) fillCourse(details, sentence);
  });
  return details;
}

function fillCourse(details, sentence) {
  const course = sentence.k, last = course.length, steps = make("div", "steps"), slider = make("input"), text = make("output"), scroll = make("div", "scroll fit");
  let cursor = null;
  if (sentence.chart) {
    const chart = new DOMParser().parseFromString(sentence.chart, "image/svg+xml").documentElement;
    chart.classList.add("chart");
    cursor = shape("line", {y1: data.chart.top, y2: data.chart.bottom, stroke: "currentColor", "stroke-dasharray": "3 3"});
    chart.append(cursor);
    details.append(document.importNode(chart, true));
    cursor = details.querySelector("svg.chart > line:last-child");
  }
  Object.assign(slider, {type: "range", min: 1, max: last, value: last});
  slider.setAttribute("aria-label", "Iteration");
  const note = "Above: the tree at this iteration's multipliers; dashed where no automaton takes the arc. Below: arcs that only automata take (grandparent: only as a grandparent's arc).";
  steps.append(slider, text);
  details.append(steps, scroll, make("p", "note", note));
  const show = () => {
    const k = Number(slider.value), [dual, primal, heads, missing, extra] = course[k - 1];
    const best = Math.min(...course.slice(0, k).map((each) => each[0])), found = Math.max(...course.slice(0, k).map((each) => each[1]));
    const disputed = missing.length + extra.length;
    text.textContent = `iteration ${k}: bound ${best.toFixed(2)}, tree ${found.toFixed(2)}, gap ${Math.max(0, best - found).toPrecision(3)}; ${disputed} disputed`;
    text.title = `dual ${dual}, primal ${primal}`;
    const above = heads.map((head, i) => ({head, word: i + 1, label: "", kind: missing.includes(i + 1) ? "wrong" : "right"}));
    const below = extra.map(([head, word, which]) => ({head, word, label: which === 2 ? "grandparent" : "", kind: "other"}));
    scroll.replaceChildren(drawTree({forms: sentence.w, tags: sentence.w.map(() => ""), above, below, rightToLeft: Boolean(sentence.r), title: `Iteration ${k}: ${text.textContent}`}).svg);
    if (cursor) {
      const x = data.chart.left + (last > 1 ? ((k - 1) / (last - 1)) * data.chart.width : 0);
      cursor.setAttribute("x1", x);
      cursor.setAttribute("x2", x);
    }
  };
  slider.addEventListener("input", show);
  show();
}
