/* The grammar of queries and of fields: the twin of nonproj_workbench.search.syntax and its modules, with the same
patterns, messages and columns; workbench/docs/search-grammar.md has the grammar in EBNF. */

import {Cursor, Regex, RegexError} from "./regex.js";

const TEXTS = ["form", "lemma", "upos", "xpos", "feats", "deprel", "deps", "misc", "sent_id"];
const NUMBERS = ["id", "head", "distance", "depth", "children", "length", "confidence"];
const FLAGS = ["root", "headless", "crossing", "differs", "head-differs", "label-differs"];
const OF_TREE = ["deprel", "head", "distance", "depth", "children", "root", "headless", "crossing"];
export const OF_BOTH = ["differs", "head-differs", "label-differs"];
const TAGS = "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X".split(" ");
const FORMER = new Map([["label", "deprel"], ["tag", "upos"]]);  // attributes in the simple search of earlier reports
const LONGEST = 4000, MOST_NODES = 100, DEEPEST = 30;
const BLANKS = " \t\r\n\u00a0", RESERVED = BLANKS + '{}[]()<>=!&|";,', NOT_FIRST = "/$~:.-";
const RELATIONS = ["<<", ">>", "><", ">++", ">--", "<++", "<--", "$++", "$--", "==", "..", "--", ">", "<", "$", ".", "-"];
const LABELLED = [">", "<", ">++", ">--", "<++", "<--"], RANGED = ["<<", ">>", "..", "--"];
/** @type {any} */
const ALWAYS = {kind: "all", parts: []};

export class QueryError extends Error {
  constructor(column, message) {
    super(message);
    this.column = column;
  }
}

const isLetter = (c) => /^\p{L}$/u.test(c);
const isCapital = (word) => /^\p{Lu}/u.test(word);
const isNumber = (text) => /^-?(?:[0-9]+\.?[0-9]*|\.[0-9]+)$/.test(text) && text.length < 20;
const textTest = (key, value) => ({kind: "test", attribute: {other: false, heads: 0, kind: "text", key}, operator: "=", value});

function kindOf(name) {
  if (TEXTS.includes(name)) return "text";
  if (NUMBERS.includes(name)) return "number";
  if (FLAGS.includes(name)) return "flag";
  if (name.startsWith("misc.") && name.length > 5) return "misc";
  return isCapital(name) && !TAGS.includes(name) ? "feature" : "";
}

function unknownAttribute(name) {
  if (TAGS.includes(name)) return `${name} is a value; write upos:${name}`;
  if (!name) return "an attribute is expected, as in upos:NOUN";
  return `no attribute '${[...name].slice(0, 40).join("")}'; there are ${[...TEXTS, ...NUMBERS, ...FLAGS].join(", ")}, features such as Case, and misc.NAME`;
}

/* A recursive descent parser; each method follows a rule of the grammar. */
class QueryParser extends Cursor {
  nodes = 0;
  depth = 0;
  blankAfter = -1;

  constructor(text) {
    super(text);
    if (this.countedTo(text.length) > LONGEST) throw new QueryError(LONGEST + 1, `a query has at most ${LONGEST} characters`);
  }

  /* -- the scanner ------------------------------------------------------------------------------------------------- */

  fail(message, place = this.place) {
    throw new QueryError(this.countedTo(place) + 1, message);
  }

  skip() {
    while (this.here() && BLANKS.includes(this.here())) this.place++;
    return this.here();
  }

  run(excluded) {
    const start = this.place;
    while (this.here() && !excluded.includes(this.here())) this.place += this.here().length;
    return this.text.slice(start, this.place);
  }

  number() {
    const match = this.take(/[0-9]{1,6}/y);
    return match && Number(match[0]);
  }

  quoted() {
    const match = this.take(/"((?:[^"\\]|\\["\\]|\\(?!["\\]))*)"/uy);
    if (!match) this.fail('a quotation mark is not closed: "');
    return match[1].replace(/\\(["\\])/g, "$1");
  }

  regex() {
    const start = this.place, match = this.take(/\/((?:[^/\\]|\\.)*)\/(i?)/suy);
    if (!match) this.fail("a regular expression is not closed: /");
    const [, text, flag] = match;
    try {
      new Regex(text);
    } catch (error) {
      if (!(error instanceof RegexError)) throw error;
      throw new QueryError(this.countedTo(start) + 2 + error.position, `in the regular expression: ${error.message}`);
    }
    return {kind: "regex", text, ignoreCase: Boolean(flag)};
  }

  /* What is in the parentheses that `opened` is the place of. */
  enclosed(sign, opened, parse) {
    if (++this.depth > DEEPEST) this.fail(`parentheses are nested more than ${DEEPEST} deep`, opened);
    const part = parse();
    this.depth--;
    if (!sign) return part;
    if (!this.skip()) this.fail(`'${sign}' is missing at the end`, opened);
    if (!this.eat(sign)) this.fail(`'${sign}' is expected before '${this.here()}'; column ${this.countedTo(opened) + 1} has opened it`);
    return part;
  }

  alternatives(parse) {
    const parts = [];
    do parts.push(parse()); while (this.skip() && this.eat("|"));
    return parts.length === 1 ? parts[0] : {kind: "either", parts};
  }

  /* -- words --------------------------------------------------------------------------------------------------------- */

  element() {
    this.skip();
    if (++this.nodes > MOST_NODES) this.fail(`a query has at most ${MOST_NODES} words`);
    const negative = this.eat("!"), start = this.place, sign = this.here();
    let condition = ALWAYS, bare = "";
    if (sign === "{") condition = this.braces();
    else if (sign === '"') condition = textTest("form", {kind: "text", text: this.quoted()});
    else if (sign === "/") condition = textTest("form", this.regex());
    else if (sign && !(RESERVED + NOT_FIRST).includes(sign)) {
      bare = this.run(RESERVED);
      condition = TAGS.includes(bare) ? textTest("upos", {kind: "text", text: bare}) : textTest("form", {kind: "fold", text: bare});
    } else if (sign) this.fail(`a word is expected, not '${sign}': NOUN, dog, {lemma:go}; a sign is in quotation marks`);
    else this.fail("a word is expected: NOUN, dog, {lemma:go}; {} is any word");
    const name = this.name();
    if (!TAGS.includes(bare)) this.checkBare(bare, name, start);
    return {kind: "node", condition: negative ? {kind: "not", parts: [condition]} : condition, name, links: ALWAYS};
  }

  /* Report upos:NOUN and Case=Gen without braces, which would be a form and a named form. */
  checkBare(text, name, start) {
    const [, first, sign, rest] = /^([^:]*)(:?)(.*)$/su.exec(text), key = FORMER.get(first) ?? first;
    const known = ["text", "number", "flag"].includes(kindOf(key));
    if (sign ? known : name && (known || (isCapital(key) && isCapital(name)))) this.fail(`attributes are in braces: {${key}:${rest || name}}`, start);
  }

  name() {
    const start = this.place;
    if (this.text.startsWith("==", start) || !this.eat("=")) return "";
    const name = this.run(RESERVED + ".:~/$");
    if (!name || name === "head" || name === "misc") this.fail(name ? `${name} is an attribute; use another name` : "a name is expected after =", start);
    return name;
  }

  braces() {
    const start = this.place++;
    if (this.skip() === "}") return this.eat("}") && ALWAYS;
    return this.enclosed("}", start, () => this.conditions());
  }

  conditions() {
    return this.alternatives(() => this.conjunction());
  }

  conjunction() {
    const parts = [this.condition()];
    while (this.skip() && (this.eat(";") || this.eat("&")) && this.skip() !== "}") parts.push(this.condition());
    return parts.length === 1 ? parts[0] : {kind: "all", parts};
  }

  condition() {
    this.skip();
    const start = this.place;
    if (this.eat("!")) return {kind: "not", parts: [this.enclosed("", start, () => this.condition())]};
    if (this.eat("(")) return this.enclosed(")", start, () => this.conditions());
    const attribute = this.attribute(RESERVED + ":/$");
    this.skip();
    const place = this.place, operator = this.take(/[!<>]=|!:|[:=<>]/y)?.[0];
    if (!operator) return {kind: "test", attribute, operator: "has", value: {kind: "text", text: ""}};
    return this.test(attribute, operator, place);
  }

  test(attribute, operator, place) {
    if (attribute.kind === "flag") this.fail(`${attribute.key} has no value; write {${attribute.key}} or {!${attribute.key}}`, place);
    this.skip();
    const start = this.place, value = this.value();
    if (attribute.kind === "number" && (value.kind !== "text" || !isNumber(value.text))) this.fail(`${attribute.key} is compared with a number`, start);
    if (attribute.kind !== "number" && "<>".includes(operator[0])) this.fail(`${attribute.key} is no number; compare it by : or !:`, place);
    const test = {kind: "test", attribute, operator: /[!:]/.test(operator) ? "=" : operator, value};
    return operator[0] === "!" ? {kind: "not", parts: [test]} : test;
  }

  value() {
    if (this.here() === '"') return {kind: "text", text: this.quoted()};
    if (this.here() === "/") return this.regex();
    const text = this.run(BLANKS + '{}()&|";');
    if (!text) this.fail("a value is expected: a word, a text in quotation marks, or an expression between slashes");
    if (text.endsWith(",")) this.fail("conditions are separated by ; (and) or | (or)", this.place - 1);
    return {kind: "text", text};
  }

  attribute(excluded) {
    const start = this.place, other = this.eat("~");
    let heads = 0;
    while (this.eat("head.")) heads++;
    const place = this.place, name = this.run(excluded), kind = kindOf(name), key = kind === "misc" ? name.slice(5) : name;
    if (!kind) this.fail(unknownAttribute(name), place);
    if (other && !heads && !OF_TREE.includes(key)) this.fail(`~ is the other tree, which has its own ${OF_TREE.join(", ")}; not ${name}`, start);
    return {other, heads, kind, key};
  }

  /* -- relations ------------------------------------------------------------------------------------------------------ */

  /** @returns {any} */
  query() {
    const words = [this.element()];
    while (this.startsElement()) words.push(this.element());
    const phrase = words.length > 1;
    const node = phrase ? words.reduceRight((next, word) => ({...word, links: {kind: "link", relation: {sign: ".", other: false, label: null, low: 1, high: 0}, node: next}})) : this.linked(words[0]);
    if (this.skip()) this.unexpected(phrase);
    return node;
  }

  unexpected(phrase) {
    const sign = this.here();
    if (")]}".includes(sign)) this.fail(`'${sign}' closes nothing`);
    if (phrase && this.startsLink()) this.fail("words side by side are a phrase, without relations; write A . B for a word after another");
    if (this.startsElement() && this.blankAfter >= 0) this.fail("no blank before a label: >obj", this.blankAfter);
    if (this.startsElement()) this.fail("a relation to this word is expected, such as > or ..");
    this.fail(`'${sign}' is unexpected; a relation such as >obj or .. is expected`);
  }

  /* The next sign, behind blanks and a negation. */
  ahead() {
    return this.skip() === "!" ? this.text.charAt(this.place + 1) : this.here();
  }

  startsElement() {
    const sign = this.ahead();
    return sign !== "" && ('{"/'.includes(sign) || !(RESERVED + NOT_FIRST).includes(sign));
  }

  startsLink() {
    const sign = this.ahead();
    return sign !== "" && "<>$.-=~[".includes(sign);
  }

  linked(node) {
    return this.startsLink() ? {...node, links: this.either()} : node;
  }

  either() {
    return this.alternatives(() => this.all());
  }

  all() {
    const parts = [this.link()];
    while (this.startsLink() || this.here() === "&") {
      this.eat("&");
      parts.push(this.link());
    }
    return {kind: "all", parts};
  }

  link() {
    this.skip();
    const start = this.place;
    return this.eat("!") ? {kind: "not", parts: [this.linkOrGroup(start)]} : this.linkOrGroup(start);
  }

  linkOrGroup(start) {
    const bracket = this.place;
    if (this.eat("[")) return this.enclosed("]", bracket, () => this.either());
    const relation = this.relation(start);
    this.skip();
    const opened = this.place, parse = () => this.linked(this.element());
    return {kind: "link", relation, node: this.eat("(") ? this.enclosed(")", opened, parse) : this.element()};
  }

  relation(start) {
    const other = this.eat("~"), sign = RELATIONS.find((each) => this.eat(each)), labelled = LABELLED.includes(sign);
    if (!sign) this.fail("a relation is expected, such as >obj, <, >>, .. or $", start);
    if (other && ["==", "..", "--", ".", "-"].includes(sign)) this.fail(`~ is the other tree, but '${sign}' is about the order of words`, start);
    if (RANGED.includes(sign)) return {sign, other, label: null, ...this.distances()};
    let label = null;
    if (labelled && this.here() && !(RESERVED + "~$.-:").includes(this.here())) label = this.here() === "/" ? this.regex() : {kind: "text", text: this.run(RESERVED + ".~/$")};
    else if (labelled && this.here() && BLANKS.includes(this.here())) this.blankAfter = this.place;
    else if (["$", "$++", "$--", "><"].includes(sign) && isLetter(this.here())) this.fail(`'${sign}' has no label; write ${sign} {deprel:obj}`);
    return {sign, other, label, low: 1, high: 0};
  }

  distances() {
    const start = this.place, first = this.number();
    if (first === null && isLetter(this.here())) this.fail("this relation has no label; write >> {deprel:obj}");
    if (first === null) return {low: 1, high: 0};
    const [low, high] = this.eat("-") ? [first, this.number() || 0] : [1, first];
    if (first < 1 || (high && high < low)) this.fail("a range of distances is 5 (at most), 2-5, or 2- (at least)", start);
    return {low, high};
  }
}

/* The names of the words of a pattern; if `bound`, only those outside ! and |. */
export function namesOf(part, bound = false, found = new Set()) {
  if (part.kind === "node") {
    if (part.name) found.add(part.name);
    namesOf(part.links, bound, found);
  } else if (part.kind === "link") namesOf(part.node, bound, found);
  else if (part.kind === "all" || !bound) for (const each of part.parts) namesOf(each, bound, found);
  return [...found];
}

export function parseQuery(text) {
  const parser = new QueryParser(text), node = parser.query(), bound = namesOf(node, true);
  const free = namesOf(node).find((name) => !bound.includes(name));
  if (free) parser.fail(`'${free}' is used only under ! or |; name a word that is always found, too`, Math.max(0, text.indexOf("=" + free)));
  return node;
}

/* The fields in a list such as "deprel, head.upos, o.lemma". */
export function parseFields(text, names) {
  const parser = new QueryParser(text), found = [];
  for (;;) {
    parser.skip();
    const start = parser.place, name = names.find((each) => parser.eat(`${each}.`)) || "", attribute = parser.attribute(BLANKS + ",");
    found.push({name, attribute, text: text.slice(start, parser.place)});
    if (!parser.skip()) return found;
    if (!parser.eat(",")) parser.fail("fields are separated by commas");
  }
}
