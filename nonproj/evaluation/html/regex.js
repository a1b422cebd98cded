/* Regular expressions: the twin of nonproj_workbench.search.regex, with the same limits, messages and positions; it translates
expressions for the browser's engine. */

const MOST_WAYS = 1e11, LENGTH = 500, MOST_SIZE = 2000, DEEPEST_GROUP = 50;
const ESCAPE = "\\\\(?:[dwsDWS]|[pP]\\{(?:L[ultmo]?|M[nce]?|N[dlo]?|P[cdseifo]?|S[mcko]?|Z[slp]?|C[cfosn]?)\\}|[^A-Za-z0-9])";
const ITEM = new RegExp(`([^\\\\\\]])-([^\\\\\\]])|${ESCAPE}|[^\\\\\\]]`, "suy"), OPEN = /\((?:\?:|(?!\?))/y, COUNT = /([*+?])|\{([0-9]{1,4})(,?)([0-9]{0,4})\}/y;
const SINGLE = new RegExp(`\\.|(\\[(?:\\^|(?!\\^)))((?:${ESCAPE}|[^\\\\\\]])+)\\]|${ESCAPE}|[^\\\\*+?{}()\\[\\]^$|]`, "suy");
const CLASSES = {d: "\\p{Nd}", D: "\\P{Nd}", w: "[\\p{L}\\p{M}\\p{N}_]", W: "[^\\p{L}\\p{M}\\p{N}_]", s: "[\\t\\n\\v\\f\\r\\p{Z}]", S: "[^\\t\\n\\v\\f\\r\\p{Z}]"};
const WRONG_COUNT = "a repetition is {2}, {2,} or {2,5}; write \\{ for the character";

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

function limit(reader, ways, size) {
  if (size > MOST_SIZE) reader.refuse(0, "the expression is too large");
  if (ways > MOST_WAYS) reader.refuse(0, "too many repetitions and alternatives follow each other");
}

/* Reads an expression; a part has its translation, the number of ways in which it may match, and its size. */
class RegexReader extends Cursor {
  refuse(place, message) {
    throw new RegexError(this.countedTo(place), message);
  }

  translated(ignoreCase) {
    const {text} = this, groups = [{place: 0, earlier: 0, ways: 1, size: 0}];
    let found = "";
    this.eat("^");
    while (this.here() && text.slice(this.place) !== "$") {
      const start = this.place;
      let group = groups.at(-1), part = "", ways = 1, size = 1, match = null;
      if (this.eat("|")) {
        Object.assign(group, {earlier: group.earlier + group.ways, ways: 1});
        found += "|";
        continue;
      }
      if (this.take(OPEN)) {
        if (groups.length > DEEPEST_GROUP) this.refuse(start, `groups are nested more than ${DEEPEST_GROUP} deep`);
        groups.push({place: start, earlier: 0, ways: 1, size: 0});
        found += "(?:";
        continue;
      }
      if (groups.length > 1 && this.eat(")")) {
        [part, ways, size] = [")", group.earlier + group.ways, group.size + 1];
        groups.pop();
        group = groups.at(-1);
      } else if ((match = this.take(SINGLE))) part = this.single(match, start, ignoreCase);
      else this.refuse(start, this.unexpected());
      const repeated = this.repeated(ways, size);
      found += part + repeated.count;
      group.ways *= repeated.ways;
      group.size += repeated.size;
      limit(this, group.ways, group.size);
    }
    if (groups.length > 1) this.refuse(groups.at(-1).place, "a parenthesis is not closed");
    const ways = groups[0].earlier + groups[0].ways;
    limit(this, ways, groups[0].size);
    return {found, ways};
  }

  unexpected() {
    const sign = this.here();
    if (this.eat("(?")) return "of the groups that start with (? only (?:..) is supported";
    if (sign === "\\") return "supported after \\ are d, w, s, signs, and categories such as p{Lu}";
    if (sign === "[") return "brackets are [ab], [a-z] or [^ab]; write \\[ for the character";
    return `'${sign}' is unexpected here; write \\${sign} for the character`;
  }

  repeated(ways, size) {
    const start = this.place, match = this.take(COUNT);
    if (!match && this.here() !== "{") return {count: "", ways, size};
    const [count, sign, first, comma, last] = match ?? ["", "", 1, "", 0], low = sign ? Number(sign === "+") : Number(first);
    const endless = sign ? sign !== "?" : comma && !last, high = endless ? low + 1 : sign ? 1 : Number(comma ? last : first);
    if (!match || low > high) this.refuse(start, WRONG_COUNT);
    if (this.here() && "*+?{".includes(this.here())) this.refuse(this.place, "a second quantifier; repetitions are neither lazy (+?) nor possessive (++)");
    if (endless && ways > 1) this.refuse(start, "repeats alternatives or repetitions, which can take too long; [ab]+ replaces (a|b)+");
    size *= Math.max(high, 1);
    limit(this, 1, size);
    return {count, ways: endless ? LENGTH : (high - low + 1) * ways ** high, size};
  }

  /* The translation of a character, a class, or brackets. */
  single([whole, bracket, items], start, ignoreCase) {
    if (whole === ".") return ".";
    const cursor = new Cursor(items ?? whole), own = (c) => literal(ignoreCase ? fold(c) : c);
    let found = bracket ?? "[";
    while (cursor.here()) {
      const place = cursor.place, [item, first, last] = cursor.take(ITEM), kind = item[1];
      if (first && last.codePointAt(0) < first.codePointAt(0)) this.refuse(start + bracket.length + place, `the range ${item} is empty`);
      if (first) {
        found += `${literal(first)}-${literal(last)}`;
        if (ignoreCase && fold(first).codePointAt(0) <= fold(last).codePointAt(0)) found += `${own(first)}-${own(last)}`;
      } else if (item[0] === "\\" && "dwsDWSpP".includes(kind)) found += CLASSES[kind] ?? item;
      else found += own(item[0] === "\\" && kind ? item.slice(1) : item);
    }
    return `${found}]`;
  }
}

export class Regex {
  constructor(text, ignoreCase = false) {
    const {found, ways} = new RegexReader(text).translated(ignoreCase);
    this.regex = new RegExp(`^(?:${found})$`, "sv");
    this.ignoreCase = ignoreCase;
    this.longest = Math.trunc(LENGTH * (MOST_WAYS / ways) ** 0.25);
  }

  matches(text) {
    if (this.ignoreCase) text = [...text].map(fold).join("");
    return text.length <= this.longest && this.regex.test(text);
  }
}
