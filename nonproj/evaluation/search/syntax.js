/* The grammar of queries and of fields: the twin of nonproj.evaluation.search.syntax and its modules, with the same
patterns, messages and columns; docs/search.md has the grammar in EBNF. */

const TEXTS = ["form", "lemma", "upos", "xpos", "feats", "deprel", "deps", "misc", "sent_id"];
const NUMBERS = ["id", "head", "distance", "depth", "children", "length", "confidence"];
const FLAGS = ["root", "headless", "crossing", "differs", "head-differs", "label-differs"];
const OF_TREE = ["deprel", "head", "distance", "depth", "children", "root", "headless", "crossing"];
const OF_BOTH = ["differs", "head-differs", "label-differs"];
const TAGS = "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X".split(" ");
const FORMER = {label: "deprel", tag: "upos"};  // attributes in the simple search of earlier reports
const LONGEST = 4000, MOST_NODES = 100, DEEPEST = 30;
const BLANKS = " \t\r\n\u00a0", RESERVED = BLANKS + '{}[]()<>=!&|";,', NOT_FIRST = "/$~:.-";
const RELATIONS = ["<<", ">>", "><", ">++", ">--", "<++", "<--", "$++", "$--", "==", "..", "--", ">", "<", "$", ".", "-"];
const LABELLED = [">", "<", ">++", ">--", "<++", "<--"], RANGED = ["<<", ">>", "..", "--"];

class QueryError extends Error {
  constructor(column, message) {
    super(message);
    this.column = column;
  }
}

const isLetter = (c) => /^\p{L}$/u.test(c);
const formTest = (value) => ({kind: "test", attribute: {other: false, heads: 0, kind: "text", key: "form"}, operator: "=", value});
const joined = (kind, parts) => (parts.length === 1 ? parts[0] : {kind, parts});

function findAttribute(other, heads, name) {
  for (const [kind, names] of [["text", TEXTS], ["number", NUMBERS], ["flag", FLAGS]]) if (names.includes(name)) return {other, heads, kind, key: name};
  if (name.startsWith("misc.") && name.length > 5) return {other, heads, kind: "misc", key: name.slice(5)};
  if (/^\p{Lu}/u.test(name) && !TAGS.includes(name)) return {other, heads, kind: "feature", key: name};
  return null;
}

function unknownAttribute(name) {
  if (TAGS.includes(name)) return `${name} is a value; write upos:${name}`;
  if (!name) return "an attribute is expected, as in upos:NOUN";
  return `no attribute '${[...name].slice(0, 40).join("")}'; there are ${[...TEXTS, ...NUMBERS, ...FLAGS].join(", ")}, features such as Case, and misc.NAME`;
}

function isNumber(text) {
  return /^-?(?:[0-9]+\.?[0-9]*|\.[0-9]+)$/.test(text) && text.length < 20;
}

/* A recursive descent parser; each method follows a rule of the grammar. */
class QueryParser {
  constructor(text) {
    this.chars = [...text];
    if (this.chars.length > LONGEST) throw new QueryError(LONGEST + 1, `a query has at most ${LONGEST} characters`);
    Object.assign(this, {place: 0, nodes: 0, depth: 0, blankAfter: -1});
  }

  /* -- the scanner ------------------------------------------------------------------------------------------------- */

  fail(message, place = this.place) {
    throw new QueryError(place + 1, message);
  }

  here() {
    return this.chars[this.place] || "";
  }

  skip() {
    while (this.here() && BLANKS.includes(this.here())) this.place++;
    return this.here();
  }

  comes(wanted) {
    return [...wanted].every((c, i) => this.chars[this.place + i] === c);
  }

  eat(wanted) {
    const found = this.comes(wanted);
    if (found) this.place += [...wanted].length;
    return found;
  }

  run(excluded) {
    const start = this.place;
    while (this.here() && !excluded.includes(this.here())) this.place++;
    return this.chars.slice(start, this.place).join("");
  }

  number() {
    const start = this.place;
    while (/^[0-9]$/.test(this.here()) && this.place - start < 6) this.place++;
    return this.place > start ? Number(this.chars.slice(start, this.place).join("")) : null;
  }

  quoted() {
    const start = this.place++;
    let found = "", sign;
    while ((sign = this.here()) !== '"') {
      if (!sign) this.fail('a quotation mark is not closed: "', start);
      this.place++;
      if (sign === "\\" && (this.here() === '"' || this.here() === "\\")) {
        sign = this.here();
        this.place++;
      }
      found += sign;
    }
    this.place++;
    return found;
  }

  regex() {
    const start = this.place++;
    let sign;
    while ((sign = this.here()) !== "/") {
      if (!sign) this.fail("a regular expression is not closed: /", start);
      this.place += sign === "\\" ? 2 : 1;
    }
    const text = this.chars.slice(start + 1, this.place).join("");
    this.place++;
    const ignoreCase = this.eat("i");
    try {
      new Regex(text, ignoreCase);
    } catch (error) {
      if (!(error instanceof RegexError)) throw error;
      this.fail(`in the regular expression: ${error.message}`, start + 1 + error.position);
    }
    return {kind: "regex", text, ignoreCase};
  }

  deeper(place) {
    if (++this.depth > DEEPEST) this.fail(`parentheses are nested more than ${DEEPEST} deep`, place);
  }

  close(sign, opened) {
    this.depth--;
    if (!this.skip()) this.fail(`'${sign}' is missing at the end`, opened);
    if (!this.eat(sign)) this.fail(`'${sign}' is expected before '${this.here()}'; column ${opened + 1} has opened it`);
  }

  /* -- words --------------------------------------------------------------------------------------------------------- */

  element() {
    this.skip();
    if (++this.nodes > MOST_NODES) this.fail(`a query has at most ${MOST_NODES} words`);
    const negative = this.eat("!"), start = this.place, sign = this.here();
    let condition = {kind: "all", parts: []}, bare = "";
    if (sign === "{") condition = this.braces();
    else if (sign === '"') condition = formTest({kind: "text", text: this.quoted()});
    else if (sign === "/") condition = formTest(this.regex());
    else if (sign && !(RESERVED + NOT_FIRST).includes(sign)) {
      bare = this.run(RESERVED);
      condition = formTest({kind: "fold", text: bare});
      if (TAGS.includes(bare)) condition = {kind: "test", attribute: {other: false, heads: 0, kind: "text", key: "upos"}, operator: "=", value: {kind: "text", text: bare}};
    } else if (sign) this.fail(`a word is expected, not '${sign}': NOUN, dog, {lemma:go}; a sign is in quotation marks`);
    else this.fail("a word is expected: NOUN, dog, {lemma:go}; {} is any word");
    if (negative) condition = {kind: "not", part: condition};
    const name = this.name();
    if (!TAGS.includes(bare)) this.checkBare(bare, name, start);
    return {kind: "node", condition, name, links: {kind: "all", parts: []}};
  }

  /* Report upos:NOUN and Case=Gen without braces, which would be a form and a named form. */
  checkBare(text, name, start) {
    const colon = text.indexOf(":"), sign = colon >= 0, first = sign ? text.slice(0, colon) : text;
    const key = Object.hasOwn(FORMER, first) ? FORMER[first] : first, value = (sign && text.slice(colon + 1)) || name;
    const known = [...TEXTS, ...NUMBERS, ...FLAGS].includes(key), capital = (word) => /^\p{Lu}/u.test(word);
    if ((sign && known) || (!sign && name && (known || (capital(key) && capital(name))))) this.fail(`attributes are in braces: {${key}:${value}}`, start);
  }

  name() {
    const start = this.place;
    if (this.comes("==") || !this.eat("=")) return "";
    const name = this.run(RESERVED + ".:~/$");
    if (!name || name === "head" || name === "misc") this.fail(name ? `${name} is an attribute; use another name` : "a name is expected after =", start);
    return name;
  }

  braces() {
    const start = this.place++;
    if (this.skip() === "}") {
      this.place++;
      return {kind: "all", parts: []};
    }
    this.deeper(start);
    const condition = this.conditions();
    this.close("}", start);
    return condition;
  }

  conditions() {
    const parts = [this.conjunction()];
    while (this.skip() === "|") {
      this.place++;
      parts.push(this.conjunction());
    }
    return joined("either", parts);
  }

  conjunction() {
    const parts = [this.condition()];
    while (this.skip() && ";&".includes(this.here())) {
      this.place++;
      if (this.skip() === "}") break;
      parts.push(this.condition());
    }
    return joined("all", parts);
  }

  condition() {
    this.skip();
    const start = this.place;
    if (this.eat("!")) {
      this.deeper(start);
      const part = this.condition();
      this.depth--;
      return {kind: "not", part};
    }
    if (this.eat("(")) {
      this.deeper(start);
      const part = this.conditions();
      this.close(")", start);
      return part;
    }
    const attribute = this.attribute(RESERVED + ":/$");
    this.skip();
    const place = this.place, operator = ["!=", "!:", "<=", ">=", ":", "=", "<", ">"].find((sign) => this.eat(sign));
    if (!operator) return {kind: "test", attribute, operator: "has", value: {kind: "text", text: ""}};
    return this.test(attribute, operator, place);
  }

  test(attribute, operator, place) {
    if (attribute.kind === "flag") this.fail(`${attribute.key} has no value; write {${attribute.key}} or {!${attribute.key}}`, place);
    this.skip();
    const start = this.place;
    let value = this.value();
    if (attribute.kind === "number") {
      if (value.kind !== "text" || !isNumber(value.text)) this.fail(`${attribute.key} is compared with a number`, start);
      value = {kind: "number", text: value.text};
    } else if ("<>".includes(operator[0])) this.fail(`${attribute.key} is no number; compare it by : or !:`, place);
    if (operator[0] === "!") return {kind: "not", part: {kind: "test", attribute, operator: "=", value}};
    return {kind: "test", attribute, operator: operator === ":" ? "=" : operator, value};
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
    const place = this.place, name = this.run(excluded), found = findAttribute(other, heads, name);
    if (!found) this.fail(unknownAttribute(name), place);
    if (other && !heads && !OF_TREE.includes(found.key)) this.fail(`~ is the other tree, which has its own ${OF_TREE.join(", ")}; not ${name}`, start);
    return found;
  }

  /* -- relations ------------------------------------------------------------------------------------------------------ */

  query() {
    const words = [this.element()];
    while (this.startsElement()) words.push(this.element());
    const phrase = words.length > 1;
    let node = words.pop();
    if (phrase) for (const word of words.reverse()) node = {...word, links: {kind: "all", parts: [{kind: "link", relation: {sign: ".", other: false, label: null, low: 1, high: 0}, node}]}};
    else node = this.linked(node);
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

  startsElement() {
    let sign = this.skip();
    if (sign === "!") sign = this.chars[this.place + 1] || "";
    return Boolean(sign) && ('{"/'.includes(sign) || !(RESERVED + NOT_FIRST).includes(sign));
  }

  startsLink() {
    let sign = this.skip();
    if (sign === "!") sign = this.chars[this.place + 1] || "";
    return Boolean(sign) && "<>$.-=~[".includes(sign);
  }

  linked(node) {
    return this.startsLink() ? {...node, links: this.either()} : node;
  }

  either() {
    const parts = [this.all()];
    while (this.skip() === "|") {
      this.place++;
      parts.push(this.all());
    }
    return joined("either", parts);
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
    if (this.eat("!")) return {kind: "not", part: this.linkOrGroup(start)};
    return this.linkOrGroup(start);
  }

  linkOrGroup(start) {
    let opened = this.place;
    if (this.eat("[")) {
      this.deeper(opened);
      const part = this.either();
      this.close("]", opened);
      return part;
    }
    const relation = this.relation(start);
    this.skip();
    opened = this.place;
    if (!this.eat("(")) return {kind: "link", relation, node: this.element()};
    this.deeper(opened);
    const node = this.linked(this.element());
    this.close(")", opened);
    return {kind: "link", relation, node};
  }

  relation(start) {
    const other = this.eat("~"), sign = RELATIONS.find((each) => this.eat(each));
    if (!sign) this.fail("a relation is expected, such as >obj, <, >>, .. or $", start);
    if (other && ["==", "..", "--", ".", "-"].includes(sign)) this.fail(`~ is the other tree, but '${sign}' is about the order of words`, start);
    if (RANGED.includes(sign)) {
      const [low, high] = this.distances();
      return {sign, other, label: null, low, high};
    }
    let label = null;
    if (LABELLED.includes(sign) && this.here() && !(RESERVED + "~$.-:").includes(this.here())) label = this.here() === "/" ? this.regex() : {kind: "text", text: this.run(RESERVED + ".~/$")};
    else if (LABELLED.includes(sign) && this.here() && BLANKS.includes(this.here())) this.blankAfter = this.place;
    else if (["$", "$++", "$--", "><"].includes(sign) && isLetter(this.here())) this.fail(`'${sign}' has no label; write ${sign} {deprel:obj}`);
    return {sign, other, label, low: 1, high: 0};
  }

  distances() {
    const start = this.place, first = this.number();
    if (first === null) {
      if (isLetter(this.here())) this.fail("this relation has no label; write >> {deprel:obj}");
      return [1, 0];
    }
    let low = 1, high = first;
    if (this.eat("-")) [low, high] = [first, this.number() || 0];
    if (low < 1 || (high && high < low) || first < 1) this.fail("a range of distances is 5 (at most), 2-5, or 2- (at least)", start);
    return [low, high];
  }
}

/* The names of the words of a pattern; if `bound`, only those outside ! and |. */
function namesOf(part, bound = false, found = new Set()) {
  if (part.kind === "node") {
    if (part.name) found.add(part.name);
    namesOf(part.links, bound, found);
  } else if (part.kind === "link") namesOf(part.node, bound, found);
  else if (part.kind === "all" || !bound) for (const each of part.kind === "not" ? [part.part] : part.parts) namesOf(each, bound, found);
  return [...found];
}

function parseQuery(text) {
  const parser = new QueryParser(text), node = parser.query(), bound = namesOf(node, true);
  for (const name of namesOf(node)) {
    if (bound.includes(name)) continue;
    const place = [...text.slice(0, Math.max(0, text.indexOf("=" + name)))].length;
    parser.fail(`'${name}' is used only under ! or |; name a word that is always found, too`, place);
  }
  return node;
}

/* The fields in a list such as "deprel, head.upos, o.lemma". */
function parseFields(text, names) {
  const parser = new QueryParser(text), found = [];
  for (;;) {
    parser.skip();
    const start = parser.place, name = names.find((each) => parser.eat(`${each}.`)) || "";
    const attribute = parser.attribute(BLANKS + ",");
    found.push({name, attribute, text: parser.chars.slice(start, parser.place).join("")});
    if (!parser.skip()) return found;
    if (!parser.eat(",")) parser.fail("fields are separated by commas");
  }
}
