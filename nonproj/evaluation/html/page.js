/* The data of the page, and its state: what is filtered and shown. */

import {visible} from "../../pictures/tree.js";

/** @returns {any} */
export const find = (id) => document.getElementById(id);
export const data = JSON.parse(find("data").textContent);
export const sentences = data.sentences, items = new Map();
export const state = {above: data.trees.length ? 0 : -1, beside: data.beside, text: "", differs: "", label: "", tag: "", crossing: false, uncertified: false, sort: "file", fit: true};
export const NONE = {text: "", differs: "", label: "", tag: "", crossing: false, uncertified: false};
/* The sentences that are shown, by their numbers, and the place of the current one in this list, or -1. */
export const list = {shown: [], current: -1};

export const count = (number) => number.toLocaleString("en");
export const several = (number, text, more = `${text}s`) => `${count(number)} ${number === 1 ? text : more}`;

export function make(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = visible(text);
  return made;
}

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
