/* Regular expressions: the twin of nonproj.evaluation.search.regex, with the same limits, messages and positions; it translates
expressions for the browser's engine. */

const MOST_WAYS = 1e11, LENGTH = 500, MOST_SIZE = 2000, DEEPEST_GROUP = 50;
const COUNTS = /([*+?])|\{([0-9]{1,4})(,?)([0-9]{0,4})\}/uy, RANGE = /([^\\\]])-([^\\\]])/uy;
const CHARACTER = /\\(?:([dwsDWS])|([pP]\{(?:L[ultmo]?|M[nce]?|N[dlo]?|P[cdseifo]?|S[mcko]?|Z[slp]?|C[cfosn]?)\})|([^A-Za-z0-9]))|([^\\])/uy;
const CLASSES = {d: "\\p{Nd}", D: "\\P{Nd}", w: "[\\p{L}\\p{M}\\p{N}_]", W: "[^\\p{L}\\p{M}\\p{N}_]", s: "[\\t\\n\\v\\f\\r\\p{Z}]", S: "[^\\t\\n\\v\\f\\r\\p{Z}]"};

export class RegexError extends Error {
  constructor(position, message) {
    super(message);
    this.position = position;
  }
}

const literal = (c) => `\\u{${c.codePointAt(0).toString(16)}}`;
const ifSingle = (text, old) => ([...text].length === 1 ? text : old);

/* A character as it is compared where case is ignored. */
function fold(c) {
  const capital = ifSingle(c.toUpperCase(), c);
  return ifSingle(capital.toLowerCase(), capital);
}

/* A text and a position in it. */
export class Cursor {
  place = 0;

  constructor(text) {
    this.text = text;
  }

  here() {
    return this.place < this.text.length ? String.fromCodePoint(this.text.codePointAt(this.place)) : "";
  }

  eat(wanted) {
    const found = this.text.startsWith(wanted, this.place);
    if (found) this.place += wanted.length;
    return found;
  }

  /* Skip and return what a sticky expression matches, if it does. */
  take(pattern) {
    pattern.lastIndex = this.place;
    const match = pattern.exec(this.text);
    if (match) this.place = pattern.lastIndex;
    return match;
  }

  countedTo(place) {
    return [...this.text.slice(0, place)].length;
  }
}

/* A recursive descent parser of expressions; a part has its translation, the number of ways in which it may match, and its size. */
class RegexReader extends Cursor {
  depth = 0;

  constructor(text, ignoreCase) {
    super(text);
    this.ignoreCase = ignoreCase;
  }

  whole() {
    this.eat("^");
    const part = this.either();
    if (this.text.slice(this.place) === "$") this.place++;
    if (this.here()) this.unexpected();
    return this.limited(part);
  }

  fail(place, message) {
    throw new RegexError(this.countedTo(place), message);
  }

  unexpected() {
    this.fail(this.place, `'${this.here()}' is unexpected here; write \\${this.here()} for the character`);
  }

  limited(part) {
    if (part.size > MOST_SIZE) this.fail(0, "the expression is too large");
    if (part.ways > MOST_WAYS) this.fail(0, "too many repetitions and alternatives follow each other");
    return part;
  }

  either() {
    const whole = {text: "", ways: 0, size: 0};
    do {
      let ways = 1;
      if (whole.ways) whole.text += "|";
      while (!["", "|", ")", "$"].includes(this.here())) {
        const part = this.repeated();
        whole.text += part.text;
        whole.size += part.size;
        ways *= part.ways;
      }
      whole.ways += ways;
    } while (this.eat("|"));
    return whole;
  }

  repeated() {
    const part = this.single(), start = this.place, match = this.take(COUNTS);
    if (!match && this.here() !== "{") return part;
    const [counts, sign, first, comma, last] = match ?? ["", "", 1, "", 0], low = sign ? Number(sign === "+") : Number(first);
    const endless = sign ? sign !== "?" : comma && !last, high = endless ? low + 1 : sign ? 1 : Number(comma ? last : first);
    if (!match || low > high) this.fail(start, "a repetition is {2}, {2,} or {2,5}; write \\{ for the character");
    if (this.here() && "*+?{".includes(this.here())) this.fail(this.place, "a second quantifier; repetitions are neither lazy (+?) nor possessive (++)");
    if (endless && part.ways > 1) this.fail(start, "repeats alternatives or repetitions, which can take too long; [ab]+ replaces (a|b)+");
    const size = this.limited({...part, size: part.size * Math.max(high, 1)}).size;
    return this.limited({text: part.text + counts, ways: endless ? LENGTH : (high - low + 1) * part.ways ** high, size});
  }

  single() {
    const start = this.place;
    if ("*+?{]}^".includes(this.here())) this.unexpected();
    if (this.eat("(")) return this.group(start);
    const text = this.eat("[") ? this.brackets(start) : this.eat(".") ? "." : `[${this.character()}]`;
    return {text, ways: 1, size: 1};
  }

  group(start) {
    if (!this.eat("?:") && this.here() === "?") this.fail(start, "of the groups that start with (? only (?:..) is supported");
    if (++this.depth > DEEPEST_GROUP) this.fail(start, `groups are nested more than ${DEEPEST_GROUP} deep`);
    const {text, ways, size} = this.either();
    this.depth--;
    if (!this.eat(")")) this.fail(start, "a parenthesis is not closed");
    return {text: `(?:${text})`, ways, size: size + 1};
  }

  brackets(start) {
    let found = this.eat("^") ? "[^" : "[";
    if (this.here() === "]") this.fail(start, "empty brackets; write \\] for the character");
    while (!this.eat("]")) {
      if (!this.here()) this.fail(start, "a bracket is not closed");
      const place = this.place, ends = this.take(RANGE)?.slice(1);
      if (ends && ends[1].codePointAt(0) < ends[0].codePointAt(0)) this.fail(place, `the range ${ends.join("-")} is empty`);
      found += ends ? ends.map(literal).join("-") : this.character();
      if (ends && this.ignoreCase && fold(ends[0]).codePointAt(0) <= fold(ends[1]).codePointAt(0)) found += ends.map(fold).map(literal).join("-");
    }
    return `${found}]`;
  }

  /* Parse a character or an escape, which becomes the contents of brackets. */
  character() {
    const place = this.place, [, kind, category, escaped, sign] = this.take(CHARACTER) ?? this.fail(place, "supported after \\ are d, w, s, signs, and categories such as p{Lu}");
    if (kind || category) return kind ? CLASSES[kind] : `\\${category}`;
    return literal(this.ignoreCase ? fold(escaped ?? sign) : escaped ?? sign);
  }
}

export class Regex {
  constructor(text, ignoreCase = false) {
    const part = new RegexReader(text, ignoreCase).whole();
    this.regex = new RegExp(`^(?:${part.text})$`, "sv");
    this.ignoreCase = ignoreCase;
    this.longest = Math.trunc(LENGTH * (MOST_WAYS / part.ways) ** 0.25);
  }

  matches(text) {
    if (this.ignoreCase) text = [...text].map(fold).join("");
    return text.length <= this.longest && this.regex.test(text);
  }
}
