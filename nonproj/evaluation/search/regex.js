/* Regular expressions without backtracking: the twin of nonproj.evaluation.search.regex.

A browser's own expressions can take exponential time, and differ from Python's. */

const MOST_INSTRUCTIONS = 2000, MOST_STATES = 500, DEEPEST_GROUP = 50;
const CATEGORY = /^(?:L[ultmo]?|M[nce]?|N[dlo]?|P[cdseifo]?|S[mcko]?|Z[slp]?|C[cfosn]?)$/;

class RegexError extends Error {
  constructor(position, message) {
    super(message);
    this.position = position;
  }
}

const negated = (test, negative) => (negative ? (c) => !test(c) : test);
const literal = (wanted) => (c) => c === wanted;
const CLASSES = {
  d: (c) => /^\p{Nd}$/u.test(c),
  w: (c) => /^[_\p{L}\p{M}\p{N}]$/u.test(c),
  s: (c) => /^[\t\n\v\f\r\p{Z}]$/u.test(c),
};

function between(first, last) {
  const low = first.codePointAt(0), high = last.codePointAt(0);
  return (c) => low <= c.codePointAt(0) && c.codePointAt(0) <= high;
}

/* A recursive descent parser of expressions, given as arrays of characters. */
class RegexReader {
  constructor(chars, ignoreCase) {
    Object.assign(this, {chars, ignoreCase, place: 0, depth: 0});
  }

  whole() {
    if (this.here() === "^") this.place = 1;
    const part = this.either();
    if (this.here() === "$" && this.place === this.chars.length - 1) this.place++;
    if (this.place < this.chars.length) throw new RegexError(this.place, `'${this.here()}' is unexpected here; write \\${this.here()} for the character`);
    return part;
  }

  here() {
    return this.chars[this.place] || "";
  }

  eat(wanted) {
    const found = this.chars.slice(this.place, this.place + wanted.length).join("") === wanted;
    if (found) this.place += wanted.length;
    return found;
  }

  either() {
    const parts = [this.sequence()];
    while (this.eat("|")) parts.push(this.sequence());
    return parts.length === 1 ? parts[0] : {kind: "any", parts};
  }

  sequence() {
    const parts = [];
    while (!["", "|", ")", "$"].includes(this.here())) parts.push(this.repeated());
    return parts.length === 1 ? parts[0] : {kind: "all", parts};
  }

  repeated() {
    const part = this.single(), start = this.place, sign = this.here();
    const counts = {"*": [0, null], "+": [1, null], "?": [0, 1]};
    let low, high;
    if (Object.hasOwn(counts, sign)) {
      this.place++;
      [low, high] = counts[sign];
    } else if (sign === "{") [low, high] = this.counts();
    else return part;
    if (this.here() && "*+?{".includes(this.here())) throw new RegexError(this.place, "a second quantifier; put the first one and its part into parentheses");
    if (high !== null && low > high) throw new RegexError(start, "the counts of a repetition are in ascending order: {1,3}");
    return {kind: "repeat", parts: [part], low, high};
  }

  counts() {
    const start = this.place++, low = this.number(), high = this.eat(",") ? this.number() : low;
    if (low === null || !this.eat("}") || Math.max(low, high || 0) > MOST_INSTRUCTIONS) throw new RegexError(start, "a repetition is {2}, {2,} or {2,5}; write \\{ for the character");
    return [low, high];
  }

  number() {
    const start = this.place;
    while (/^[0-9]$/.test(this.here()) && this.place - start < 5) this.place++;
    return this.place > start ? Number(this.chars.slice(start, this.place).join("")) : null;
  }

  single() {
    const start = this.place, sign = this.here();
    if (sign && "*+?{".includes(sign)) throw new RegexError(start, `'${sign}' repeats nothing; write \\${sign} for the character`);
    if (sign && "]}^".includes(sign)) throw new RegexError(start, `'${sign}' is unexpected here; write \\${sign} for the character`);
    this.place++;
    if (sign === "(") return this.group(start);
    if (sign === "[") return {kind: "char", test: this.characters(start)};
    if (sign === ".") return {kind: "char", test: () => true};
    return {kind: "char", test: this.folded(sign === "\\" ? this.escape() : literal(sign))};
  }

  group(start) {
    if (!this.eat("?:") && this.here() === "?") throw new RegexError(start, "of the groups that start with (? only (?:..) is supported");
    if (++this.depth > DEEPEST_GROUP) throw new RegexError(start, `groups are nested more than ${DEEPEST_GROUP} deep`);
    const part = this.either();
    this.depth--;
    if (!this.eat(")")) throw new RegexError(start, "a parenthesis is not closed");
    return part;
  }

  folded(test) {
    if (!this.ignoreCase) return test;
    return (c) => test(c) || [c.toLowerCase(), c.toUpperCase()].some((other) => [...other].length === 1 && test(other));
  }

  escape() {
    const start = this.place - 1, sign = this.here();
    this.place++;
    if (sign && "dwsDWS".includes(sign)) return negated(CLASSES[sign.toLowerCase()], sign < "a");
    if ((sign === "p" || sign === "P") && this.eat("{")) {
      const end = this.chars.indexOf("}", this.place), name = this.chars.slice(this.place, end < 0 ? -1 : end).join("");
      if (!CATEGORY.test(name)) throw new RegexError(start, `no category \\p{${[...name].slice(0, 20).join("")}}; one is, for example, \\p{Lu} or \\p{P}`);
      this.place = end + 1;
      const category = new RegExp(`^\\p{${name}}$`, "u");
      return negated((c) => category.test(c), sign === "P");
    }
    if (sign && "tnr".includes(sign)) return literal({t: "\t", n: "\n", r: "\r"}[sign]);
    if (!sign || /^[A-Za-z0-9]$/.test(sign)) throw new RegexError(start, `${sign ? `\\${sign} is not supported` : "nothing follows \\"}; supported are \\d \\w \\s \\p{..} and \\ before signs`);
    return literal(sign);
  }

  characters(start) {
    const negative = this.eat("^"), tests = [];
    if (this.here() === "]") throw new RegexError(start, "empty brackets; write \\] for the character");
    while (!this.eat("]")) {
      const place = this.place, sign = this.here();
      if (!sign) throw new RegexError(start, "a bracket is not closed");
      this.place++;
      if (sign === "\\") {
        tests.push(this.folded(this.escape()));
      } else if (this.here() === "-" && !["", "]", "\\"].includes(this.chars[this.place + 1] || "")) {
        const last = this.chars[this.place + 1];
        this.place += 2;
        if (last.codePointAt(0) < sign.codePointAt(0)) throw new RegexError(place, `the range ${sign}-${last} is empty`);
        tests.push(this.folded(between(sign, last)));
      } else tests.push(this.folded(literal(sign)));
    }
    return negated((c) => tests.some((test) => test(c)), negative);
  }
}

/* A compiled expression: instructions with a test and where to go, or jumps without one; the first is the end. */
class Regex {
  constructor(text, ignoreCase = false) {
    this.code = [];
    this.steps = 0;
    const part = new RegexReader([...text], ignoreCase).whole();
    this.states = new Map();
    this.begin = this.closure([this.emit(part, this.add(null, []))]);
  }

  add(test, targets) {
    return this.code.push({test, targets}) - 1;
  }

  emit(part, end) {
    if (++this.steps > MOST_INSTRUCTIONS) throw new RegexError(0, "the expression is too large");
    if (part.kind === "char") return this.add(part.test, [end]);
    if (part.kind === "any") return this.add(null, part.parts.map((each) => this.emit(each, end)));
    if (part.kind === "all") return part.parts.reduceRight((after, each) => this.emit(each, after), end);
    const inner = part.parts[0];
    if (part.high === null) {
      const loop = this.add(null, []);
      this.code[loop].targets = [this.emit(inner, loop), end];
      end = loop;
    } else {
      const after = end;
      for (let i = part.low; i < part.high; i++) end = this.add(null, [this.emit(inner, end), after]);
    }
    for (let i = 0; i < part.low; i++) end = this.emit(inner, end);
    return end;
  }

  /* The state of the instructions with tests, or the end, that are reached by jumps. */
  closure(starts) {
    const seen = new Set(starts), stack = [...seen];
    while (stack.length) {
      const {test, targets} = this.code[stack.pop()];
      if (test) continue;
      for (const target of targets) if (!seen.has(target)) { seen.add(target); stack.push(target); }
    }
    const places = [...seen].filter((place) => place === 0 || this.code[place].test).sort((a, b) => a - b), key = places.join(" ");
    let state = this.states.get(key);
    if (!state) {
      if (this.states.size >= MOST_STATES) this.states.clear();
      state = {places, moves: new Map()};
      this.states.set(key, state);
    }
    return state;
  }

  matches(text) {
    let state = this.begin;
    for (const c of text) {
      let after = state.moves.get(c);
      if (!after) {
        const targets = [];
        for (const place of state.places) if (this.code[place].test?.(c)) targets.push(this.code[place].targets[0]);
        after = this.closure(targets);
        if (state.moves.size < MOST_STATES) state.moves.set(c, after);
      }
      if (!after.places.length) return false;
      state = after;
    }
    return state.places[0] === 0;
  }
}
