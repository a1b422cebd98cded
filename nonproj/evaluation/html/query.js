/* Compiled queries and their matches: the twin of nonproj_workbench.search.query, attributes and words.

The words of a sentence are {n, tree, other, confidence, column(key, word), sentId}, words counted from 1. */

import {Regex} from "./regex.js";
import {namesOf, OF_BOTH, parseQuery} from "./syntax.js";

const MOST_STEPS = 1_000_000;

/* The heads and labels of words, of which the first entry stands for the root, and what follows from them. */
export class SearchTree {
  constructor(heads, labels) {
    this.heads = [-1, ...heads];
    this.labels = ["", ...labels];
  }

  /* Keep what was computed. */
  keep(name, value) {
    Object.defineProperty(this, name, {value});
    return value;
  }

  get children() {
    const found = this.heads.map(() => []);
    this.heads.forEach((head, word) => found[head]?.push(word));
    return this.keep("children", found);
  }

  get depths() {
    const found = this.heads.map(() => 0);
    for (let level = this.children[0], depth = 1; level.length; depth++) {
      for (const word of level) found[word] = depth;
      level = level.flatMap((word) => this.children[word]);
    }
    return this.keep("depths", found);
  }

  /* For each word those whose arcs cross its own; an arc from the root is a vertical line above its word. */
  get crossing() {
    const found = this.heads.map(() => []), arcs = this.heads.map((head, word) => [Math.min(head, word), Math.max(head, word), word]).filter(([low]) => low > 0);
    const add = (one, two) => { found[one].push(two); found[two].push(one); };
    arcs.sort((a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2]);
    arcs.forEach(([low, high, word], i) => {
      for (let j = i + 1; j < arcs.length && arcs[j][0] < high; j++) if (low < arcs[j][0] && high < arcs[j][1]) add(word, arcs[j][2]);
      for (const root of this.children[0]) if (low < root && root < high) add(root, word);
    });
    return this.keep("crossing", found);
  }

  above(word, low, high) {
    const found = [];
    for (let head = this.heads[word], distance = 1; head > 0 && distance <= high; head = this.heads[head], distance++) if (distance >= low) found.push(head);
    return found;
  }

  * below(word, low, high) {
    for (let level = this.children[word], distance = 1; level.length && distance <= high; distance++) {
      if (distance >= low) yield* level;
      level = level.flatMap((each) => this.children[each]);
    }
  }
}

/* -- attributes --------------------------------------------------------------------------------------------------------- */

const treeOf = (words, other) => (other ? words.other : words.tree);

function headDiffers(words, word) {
  return words.other.heads[word] >= 0 && words.other.heads[word] !== words.tree.heads[word];
}

function labelDiffers(words, word) {
  const one = words.tree, two = words.other;
  if (two.heads[word] < 0 || two.heads[word] !== one.heads[word]) return false;
  return Boolean(one.labels[word] && two.labels[word]) && one.labels[word] !== two.labels[word];
}

/* The word that an attribute is about: the word itself, or a head above it; 0 if there is none. */
function placeOf({other, heads}, words, word) {
  const above = treeOf(words, other).heads;
  for (let i = 0; i < heads && word; i++) word = Math.max(above[word], 0);
  return word;
}

/* The column in which an attribute is. */
function columnOf({kind, key, other}, words, word) {
  if (kind === "feature") return words.column("feats", word);
  if (kind === "misc") return words.column("misc", word);
  if (key === "deprel") return treeOf(words, other).labels[word];
  return key === "sent_id" ? words.sentId : words.column(key, word);
}

/* The value of an attribute in its column, or null if it is absent. */
function pick({kind, key}, column) {
  if (kind === "text") return key === "form" || (column && column !== "_") ? column : null;
  for (const item of column.split("|")) {
    const sign = item.indexOf("=");
    if ((sign < 0 ? item : item.slice(0, sign)) === key && (sign >= 0 || kind === "misc")) return sign < 0 ? "" : item.slice(sign + 1);
  }
  return null;
}

function numberOf({key, other}, words, word) {
  const tree = treeOf(words, other), head = tree.heads[word];
  if (key === "id") return word;
  if (key === "length") return words.n;
  if (key === "children") return tree.children[word].length;
  if (key === "confidence") return words.confidence ? words.confidence[word - 1] : null;
  if (key === "depth") return tree.depths[word] || null;
  if (key === "head") return head >= 0 ? head : null;
  return head > 0 ? Math.abs(head - word) : null;
}

function flagOf({key, other}, words, word) {
  const tree = treeOf(words, other);
  if (key === "root") return tree.heads[word] === 0;
  if (key === "headless") return tree.heads[word] < 0;
  if (key === "crossing") return tree.crossing[word].length > 0;
  if (key === "head-differs") return headDiffers(words, word);
  return labelDiffers(words, word) || (key === "differs" && headDiffers(words, word));
}

/* The value of an attribute in a table. */
export function shownValue(attribute, words, word) {
  word = placeOf(attribute, words, word);
  if (!word) return "_";
  if (attribute.kind === "flag") return flagOf(attribute, words, word) ? "yes" : "no";
  if (attribute.kind !== "number") return pick(attribute, columnOf(attribute, words, word)) ?? "_";
  const number = numberOf(attribute, words, word);
  return number === null ? "_" : attribute.key === "confidence" ? number.toFixed(2) : String(number);
}

function acceptor(value) {
  const regex = value.kind === "regex" && new Regex(value.text, value.ignoreCase), wanted = value.text.toLowerCase();
  if (regex) return (text) => regex.matches(text);
  return value.kind === "fold" ? (text) => text.toLowerCase() === wanted : (text) => text === value.text;
}

const COMPARISONS = {"=": (a, b) => a === b, "<": (a, b) => a < b, "<=": (a, b) => a <= b, ">": (a, b) => a > b, ">=": (a, b) => a >= b};

function compileTest({attribute, operator, value}) {
  if (attribute.kind === "flag") return (words, word) => flagOf(attribute, words, word);
  if (attribute.kind === "number") {
    const wanted = Number(value.text), compare = operator === "has" ? () => true : COMPARISONS[operator];
    return (words, word) => {
      const number = numberOf(attribute, words, word);
      return number !== null && compare(number, wanted);
    };
  }
  const accepts = operator === "has" ? () => true : acceptor(value), known = new Map();
  return (words, word) => {
    const column = columnOf(attribute, words, word);
    let found = known.get(column);
    if (found === undefined) {
      const text = pick(attribute, column);
      known.set(column, found = text !== null && accepts(text));
    }
    return found;
  };
}

/* A condition on a word as a function of the words and the word. */
function compileCondition(formula) {
  if (formula.kind === "test") {
    const test = compileTest(formula);
    return (words, word) => {
      const place = placeOf(formula.attribute, words, word);
      return place > 0 && test(words, place);
    };
  }
  const parts = formula.parts.map(compileCondition);
  return (words, word) => combined(formula.kind, parts, (part) => part(words, word));
}

/* Whether "not", "all" or one of some parts holds. */
function combined(kind, parts, holds) {
  if (kind === "not") return !holds(parts[0]);
  return kind === "all" ? parts.every(holds) : parts.some(holds);
}

/* -- relations ---------------------------------------------------------------------------------------------------------- */

function* range(first, last, step) {
  for (let i = first; (last - i) * step >= 0; i += step) yield i;
}

/* The words in a relation to a word, whatever their labels. */
function relatedWords(words, {sign, other, low, high}, word) {
  const n = words.n, most = sign.length === 1 ? 1 : high || n;
  if (sign === "==") return [word];
  if (sign[0] === ".") return range(word + low, Math.min(word + most, n), 1);
  if (sign[0] === "-") return range(word - low, Math.max(word - most, 1), -1);
  const tree = treeOf(words, other), head = tree.heads[word];
  if (sign === ">>") return tree.below(word, low, most);
  if (sign === "<<") return tree.above(word, low, most);
  if (sign === "><") return tree.crossing[word];
  let found = sign[0] === ">" ? tree.children[word] : sign[0] === "<" ? (head > 0 ? [head] : []) : head >= 0 ? tree.children[head].filter((each) => each !== word) : [];
  if (sign.endsWith("++")) found = found.filter((each) => each > word);
  if (sign.endsWith("--")) found = found.filter((each) => each < word);
  return found;
}

/* -- queries -------------------------------------------------------------------------------------------------------------- */

function usesOther(part) {
  if (part.kind === "test") return part.attribute.other || OF_BOTH.includes(part.attribute.key);
  if (part.kind === "node") return usesOther(part.condition) || usesOther(part.links);
  return part.kind === "link" ? part.relation.other || usesOther(part.node) : part.parts.some(usesOther);
}

const conjuncts = (goal) => (goal.kind === "all" ? goal.parts.flatMap(conjuncts) : [goal]);

class TooLong extends Error {}

export class Query {
  count = 0;

  constructor(text) {
    const node = parseQuery(text);
    this.text = text;
    this.names = namesOf(node);
    this.usesOther = usesOther(node);
    this.first = this.compile(node);
  }

  compile(node) {
    const number = this.count++, goal = this.goal(node.links), name = this.names.indexOf(node.name);
    return {number, condition: compileCondition(node.condition), name, parts: conjuncts(goal), names: [...new Set([...(name < 0 ? [] : [name]), ...goal.names])]};
  }

  goal(formula) {
    if (formula.kind === "link") {
      const word = this.compile(formula.node), {label} = formula.relation;
      return {kind: "link", relation: formula.relation, accepts: label && acceptor(label), word, names: word.names};
    }
    const parts = formula.parts.map((each) => this.goal(each));
    return {kind: formula.kind, parts, names: [...new Set(parts.flatMap((each) => each.names))]};
  }

  /* The matches in a sentence, each the first word and the named words, and whether all were found. */
  find(words) {
    const search = new Search(words, this.names.length);
    const complete = search.run(() => {
      for (let word = 1; word <= words.n; word++) {
        search.firstWord = word;
        search.enter(this.first, word, []);
      }
    });
    const matches = [...search.found.values()];
    if (this.names.length) matches.sort((a, b) => a.map((word, i) => word - b[i]).find(Boolean) ?? 0);
    return {matches, complete};
  }

  /* All words that play a part in a match, named or not. */
  witnesses(words, match) {
    const search = new Search(words, this.names.length), found = new Set(match);
    search.bound = match.slice(1);
    const visit = (node, word) => {
      for (const goal of node.parts) {
        if (goal.kind !== "link") continue;
        for (const other of search.related(goal, word)) if (search.is(goal.word, other)) { found.add(other); visit(goal.word, other); }
      }
    };
    search.run(() => visit(this.first, match[0]));
    return found;
  }
}

/* The search in a sentence. */
class Search {
  firstWord = 0;
  found = new Map();
  known = new Map();
  left = MOST_STEPS;

  constructor(words, names) {
    this.words = words;
    this.bound = new Array(names).fill(0);
  }

  /* Search, and return whether the search ended. */
  run(visit) {
    try {
      visit();
      return true;
    } catch (error) {
      if (error instanceof TooLong) return false;
      throw error;
    }
  }

  /* Find the matches in which a node is a certain word, and `rest` holds. */
  enter(node, word, rest) {
    if (!node.condition(this.words, word)) return;
    const goals = [...node.parts.map((goal) => [goal, word]), ...rest], {name} = node;
    if (name < 0 || this.bound[name] === word) this.solve(goals);
    else if (!this.bound[name]) {
      this.bound[name] = word;
      this.solve(goals);
      this.bound[name] = 0;
    }
  }

  /* Find the matches in which all goals hold: first test those without unbound names, then bind names. */
  solve(goals) {
    const open = [];
    for (const [goal, word] of goals) {
      if (goal.names.some((name) => !this.bound[name])) open.push([goal, word]);
      else if (!this.holds(goal, word)) return;
    }
    if (!open.length) {
      const match = [this.firstWord, ...this.bound];
      this.found.set(this.bound.length ? match.join(" ") : this.firstWord, match);
      return;
    }
    const [[goal, word]] = open.splice(open.findIndex(([each]) => each.kind === "link"), 1);
    for (const other of this.related(goal, word)) this.enter(goal.word, other, open);
  }

  holds(goal, word) {
    if (goal.kind !== "link") return combined(goal.kind, goal.parts, (part) => this.holds(part, word));
    for (const other of this.related(goal, word)) if (this.is(goal.word, other)) return true;
    return false;
  }

  is(node, word) {
    if (node.names.length) return this.test(node, word);
    const key = node.number * (this.words.n + 1) + word;
    let found = this.known.get(key);
    if (found === undefined) this.known.set(key, found = this.test(node, word));
    return found;
  }

  test(node, word) {
    if (node.name >= 0 && this.bound[node.name] !== word) return false;
    return node.condition(this.words, word) && node.parts.every((goal) => this.holds(goal, word));
  }

  * related(goal, word) {
    const {relation, accepts} = goal, {labels} = treeOf(this.words, relation.other), downwards = relation.sign[0] === ">";
    for (const other of relatedWords(this.words, relation, word)) {
      if (--this.left < 0) throw new TooLong();
      if (!accepts || accepts(labels[downwards ? other : word])) yield other;
    }
  }
}
