/* The data of the page, and its state: what is searched for, filtered and shown. */

const find = (id) => document.getElementById(id);
const data = JSON.parse(find("data").textContent);
const sentences = data.sentences, items = new Map();
const state = {above: data.trees.length ? 0 : -1, beside: data.beside, query: "", by: "", pick: null, label: "", tag: "", wrong: false, crossing: false, uncertified: false, sort: "file", fit: true};
const NONE = {query: "", by: "", pick: null, label: "", tag: "", wrong: false, crossing: false, uncertified: false};
let shown = [], current = -1;

const count = (number) => number.toLocaleString("en");
const several = (number, text, more = `${text}s`) => `${count(number)} ${number === 1 ? text : more}`;

function make(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = visible(text);
  return made;
}
