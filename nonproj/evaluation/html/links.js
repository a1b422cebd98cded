/* The state of the page as the fragment of its address. */

import {data, find, list, NONE, state} from "./page.js";

const SWITCHES = ["crossing", "uncertified"], CHOICES = ["differs", "label", "tag", "sort"];

function fragment() {
  const parts = new URLSearchParams(), only = SWITCHES.filter((name) => state[name]).join(",");
  const pair = data.pairs.findIndex(([above, beside]) => above === state.above && beside === state.beside);
  const values = {text: state.text, differs: state.differs, label: state.label, tag: state.tag, only, sort: state.sort === "file" ? "" : state.sort, pair: pair > 0 ? pair : "", s: list.current < 0 ? "" : list.shown[list.current] + 1};
  for (const [name, value] of Object.entries(values)) if (value !== "") parts.set(name, value);
  return parts.toString();
}

export function writeFragment() {
  const wanted = `${location.href.split("#")[0]}#${fragment()}`.replace(/#$/, "");
  if (wanted !== location.href) history.replaceState(null, "", wanted || "#");
}

/* Set the state by the fragment, and return the number of the sentence in it, or -1. */
export function readFragment() {
  const plain = /^#s([0-9]+)$/.exec(location.hash);
  const parts = new URLSearchParams(plain ? `s=${plain[1]}` : location.hash.slice(1)), get = (name) => parts.get(name) || "";
  const only = get("only").split(","), pair = data.pairs[Number(get("pair"))] || data.pairs[0];
  Object.assign(state, NONE, {text: get("text"), sort: "file", above: pair[0], beside: pair[1]});
  for (const name of CHOICES) if ([...find(name).options].some((option) => option.value === get(name) && !option.hidden)) state[name] = get(name);
  for (const name of SWITCHES) state[name] = only.includes(name) && !find(`only-${name}`).hidden;
  find("pair").value = data.pairs.indexOf(pair);
  return Number(get("s")) - 1;
}

