/* Trees as SVG in a page: the layout of nonproj.pictures.layout, with widths of text as the browser measures them.

An arc is {head, word, label, kind}, words counted from 1 and the root 0; kinds are those of nonproj.pictures.content. */

const SVG = "http://www.w3.org/2000/svg";
export const FORM = 16, TAG = 11, LABEL = 12, LEVEL = 27, FIRST = 26, SLOT = 9, GAP = 20, BORDER = 16, ROOM = 24, TIP = 6, CORNER = 10;
const FONT = "system-ui, -apple-system, 'Segoe UI', 'Noto Sans', 'DejaVu Sans', sans-serif";
const pen = document.createElement("canvas").getContext("2d");
const widths = new Map();

/* A text with escapes for control characters and changes of direction: see nonproj.pictures.content.visible. */
export function visible(text) {
  return String(text).replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069\p{Surrogate}\ufffe\uffff]/gu, (unseen) => {
    const code = unseen.charCodeAt(0).toString(16);
    return code.length > 2 ? `\\u${code.padStart(4, "0")}` : `\\x${code.padStart(2, "0")}`;
  });
}

export function textWidth(text, font) {
  text = visible(text);
  const key = font + "\n" + text;
  let width = widths.get(key);
  if (width === undefined) {
    pen.font = `${font} ${FONT}`;
    width = pen.measureText(text).width;
    widths.set(key, width);
  }
  return width;
}

export function shape(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const key in attributes) made.setAttribute(key, attributes[key]);
  if (text !== undefined) made.textContent = visible(text);
  return made;
}

/* The level of each arc, from 1, and whether it crosses another: an arc is above all that it covers, and at another
level than those that it crosses; arcs from the root are above all. */
export function arcLevels(arcs) {
  const low = arcs.map((arc) => Math.min(arc.head, arc.word)), high = arcs.map((arc) => Math.max(arc.head, arc.word));
  const levels = arcs.map(() => 0), crosses = arcs.map(() => false);
  const order = arcs.map((_, i) => i).filter((i) => arcs[i].head);
  order.sort((i, j) => high[i] - low[i] - (high[j] - low[j]) || low[i] - low[j]);
  order.forEach((i, position) => {
    let level = 1;
    const occupied = new Set();
    for (let p = 0; p < position; p++) {
      const j = order[p];
      if (low[i] <= low[j] && high[j] <= high[i]) level = Math.max(level, levels[j] + 1);
      else if (low[j] < high[i] && low[i] < high[j]) {
        occupied.add(levels[j]);
        crosses[i] = crosses[j] = true;
      }
    }
    while (occupied.has(level)) level++;
    levels[i] = level;
  });
  arcs.forEach((root, i) => {
    if (root.head) return;
    for (const j of order) if (low[j] < root.word && root.word < high[j]) crosses[i] = crosses[j] = true;
  });
  const above = Math.max(0, ...levels) + 1;
  return {levels: levels.map((level) => level || above), crosses, highest: arcs.length ? Math.max(...levels.map((level) => level || above)) : 0};
}

/* Levels, and how far each end of each arc is from the middle of its word. */
function side(arcs, n) {
  const {levels, crosses, highest} = arcLevels(arcs);
  const ends = Array.from({length: n}, () => []), offsets = arcs.map(() => [0, 0]);
  const key = (word, other, level) => (other === 0 ? 0 : other < word ? level - 1e6 : 1e6 - level);
  arcs.forEach(({head, word}, i) => {
    ends[word - 1].push([key(word, head, levels[i]), i, 1]);
    if (head) ends[head - 1].push([key(head, word, levels[i]), i, 0]);
  });
  for (const here of ends) {
    here.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    here.forEach(([, i, which], slot) => { offsets[i][which] = SLOT * (slot - (here.length - 1) / 2); });
  }
  return {arcs, levels, crosses, highest, ends, offsets};
}

function heightOf(highest) {
  return highest ? FIRST + LEVEL * (highest - 1) + LABEL : 0;
}

/* The height of a picture whose highest arcs have these levels. */
export function pictureHeight(above, below, tagged) {
  return 2 * BORDER + heightOf(above) + heightOf(below) + (tagged ? 44 : 26);
}

function wordCenters(forms, tags, sides) {
  const halves = forms.map((form, i) => Math.max(textWidth(form, `600 ${FORM}px`), textWidth(tags[i], `${TAG}px`), SLOT * Math.max(...sides.map((each) => each.ends[i].length))) / 2);
  const wanted = forms.map(() => []);
  for (const {arcs, offsets} of sides) {
    let root = null;
    arcs.forEach(({head, word, label}, i) => {
      const room = textWidth(label, `600 ${LABEL}px`) + ROOM;
      if (head) {
        const [a, b] = head < word ? [[head, offsets[i][0]], [word, offsets[i][1]]] : [[word, offsets[i][1]], [head, offsets[i][0]]];
        wanted[b[0] - 1].push([a[0] - 1, room + a[1] - b[1]]);
      } else {
        if (root) wanted[word - 1].push([root[0], (room + root[1]) / 2 + SLOT]);
        root = [word - 1, room];
        halves[word - 1] = Math.max(halves[word - 1], room / 2);
      }
    });
  }
  const centers = [];
  halves.forEach((half, i) => {
    let x = i ? centers[i - 1] + halves[i - 1] + half + GAP : BORDER + half;
    for (const [j, distance] of wanted[i]) x = Math.max(x, centers[j] + distance);
    centers.push(x);
  });
  return {centers, width: (centers.length ? centers[centers.length - 1] + halves[halves.length - 1] : 0) + BORDER};
}

function labelPlace(arc, others) {
  const low = Math.min(arc.start, arc.end), high = Math.max(arc.start, arc.end), middle = (low + high) / 2;
  if (!arc.head) return middle;
  const half = textWidth(arc.label, `600 ${LABEL}px`) / 2 + 3, lines = [];
  for (const other of others) if (other.level > arc.level) for (const x of [other.start, other.end]) if (low < x && x < high) lines.push(x);
  const edges = [low + 4, ...lines.sort((a, b) => a - b), high - 4];
  let best = null;
  for (let i = 1; i < edges.length; i++) {
    if (edges[i] - edges[i - 1] < 2 * half) continue;
    const x = Math.min(Math.max(middle, edges[i - 1] + half), edges[i] - half);
    if (best === null || Math.abs(x - middle) < Math.abs(best - middle)) best = x;
  }
  return best === null ? middle : best;
}

function placeArcs(side, centers, foot, up) {
  const placed = side.arcs.map((arc, i) => {
    const end = centers[arc.word - 1] + side.offsets[i][1];
    const start = arc.head ? centers[arc.head - 1] + side.offsets[i][0] : end;
    return {...arc, level: side.levels[i], crosses: side.crosses[i], start, end, foot, top: foot - up * (FIRST + LEVEL * (side.levels[i] - 1)), up};
  });
  placed.sort((a, b) => b.level - a.level);
  for (const arc of placed) arc.labelAt = labelPlace(arc, placed);
  return placed;
}

/* Returns everything with its place. */
function layOut({forms, tags, above, below, rightToLeft}) {
  const n = forms.length, sides = [side(above, n), side(below, n)];
  const {centers, width} = wordCenters(forms, tags, sides);
  const tagged = tags.some((tag) => tag), top = BORDER + heightOf(sides[0].highest), bottom = top + (tagged ? 44 : 26);
  const arcs = [...placeArcs(sides[0], centers, top, 1), ...placeArcs(sides[1], centers, bottom, -1)];
  if (rightToLeft) {
    centers.forEach((x, i) => { centers[i] = width - x; });
    for (const arc of arcs) [arc.start, arc.end, arc.labelAt] = [width - arc.start, width - arc.end, width - arc.labelAt];
  }
  return {width, height: pictureHeight(sides[0].highest, sides[1].highest, tagged), centers, top, arcs};
}

export function arcPath({head, start, end, foot, top, up}) {
  const tip = foot - up * TIP, f = (x) => x.toFixed(1);
  if (!head) return `M${f(end)} ${f(top)}V${f(tip)}`;
  const turn = end > start ? 1 : -1, r = Math.min(CORNER, Math.abs(end - start) / 2), low = top + up * r;
  return `M${f(start)} ${f(foot)}V${f(low)}Q${f(start)} ${f(top)} ${f(start + turn * r)} ${f(top)}H${f(end - turn * r)}Q${f(end)} ${f(top)} ${f(end)} ${f(low)}V${f(tip)}`;
}

/* Draws {forms, tags, above, below, confidence, rightToLeft, title}; parts have the class of their kind and, as
data-word, the number of their word. Returns the picture, the middle of each word, the top of all words, and the arcs
with their places, in the order of the elements with the class "arc". */
export function drawTree(picture) {
  const {width, height, centers, top, arcs} = layOut(picture);
  const w = Math.ceil(width), h = Math.ceil(height);
  const svg = shape("svg", {class: "tree", width: w, height: h, viewBox: `0 0 ${w} ${h}`, role: "img", "aria-label": visible(picture.title)});
  picture.forms.forEach((form, i) => {
    const group = shape("g", {class: "word", "data-word": i + 1});
    if (picture.confidence) {
      const half = textWidth(form, `600 ${FORM}px`) / 2 + 5;
      group.append(shape("rect", {class: "shade", x: centers[i] - half, y: top + 2, width: 2 * half, height: 23, rx: 5, "fill-opacity": (0.75 * (1 - picture.confidence[i])).toFixed(3)}));
    }
    group.append(shape("text", {class: "form", x: centers[i], y: top + 19}, form));
    if (picture.tags[i]) group.append(shape("text", {class: "tag", x: centers[i], y: top + 37}, picture.tags[i]));
    svg.append(group);
  });
  const labels = shape("g", {class: "labels"});
  for (const arc of arcs) {
    const group = shape("g", {class: `arc ${arc.kind}${arc.crosses ? " cross" : ""}`, "data-word": arc.word, "data-head": arc.head, "data-level": arc.level});
    const d = arcPath(arc), y = arc.foot - arc.up * TIP;
    if (arc.crosses) group.append(shape("path", {class: "halo", d}));
    group.append(shape("path", {class: "line", d}), shape("path", {class: "tip", d: `M${arc.end} ${arc.foot}L${arc.end - 4} ${y}H${arc.end + 4}Z`}));
    svg.append(group);
    if (!arc.label) continue;
    const at = arc.head ? arc.top + 4 : arc.up > 0 ? arc.top - 5 : arc.top + 12;
    labels.append(shape("text", {class: `label ${arc.kind}${arc.crosses ? " cross" : ""}`, "data-word": arc.word, x: arc.labelAt, y: at}, arc.label));
  }
  svg.append(labels);
  return {svg, centers, top, arcs};
}

/* Trees are not shrunk further than this by themselves, because nobody could read them, on a phone for instance. */
const READABLE = 0.5;

/* Lets readers choose the size of a tree in a box that scrolls: shrunk to fit into the box, or full size. Returns the
button, which is hidden while the tree is not wider than its box, and a function that makes the choice. The box has the
class "fit" if its tree fits, and else "more-left" and "more-right" where the tree continues. */
export function chooseSize(scroll, svg, fits) {
  const button = document.createElement("button"), full = Number(svg.getAttribute("width"));
  let untouched = fits;
  const show = () => {
    const style = getComputedStyle(scroll), inner = scroll.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
    if (untouched && inner > 0) {
      untouched = false;
      scroll.classList.toggle("fit", inner >= READABLE * full);
    }
    const fit = scroll.classList.contains("fit"), left = Math.abs(scroll.scrollLeft), hidden = scroll.scrollWidth - scroll.clientWidth;
    button.hidden = full <= inner;
    button.setAttribute("aria-pressed", fit);
    button.textContent = fit ? `shrunk to ${Math.max(1, Math.round((100 * inner) / full))} % · full size` : "wider than the window · fit";
    scroll.classList.toggle("more-left", !fit && left > 4);
    scroll.classList.toggle("more-right", !fit && left < hidden - 4);
  };
  const choose = (fit) => { scroll.classList.toggle("fit", fit); show(); };
  button.className = "wide";
  button.addEventListener("click", () => choose(!scroll.classList.contains("fit")));
  scroll.addEventListener("scroll", show, {passive: true});
  new ResizeObserver(show).observe(scroll);
  choose(fits);
  return {button, choose};
}
