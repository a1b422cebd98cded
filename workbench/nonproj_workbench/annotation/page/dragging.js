/* Heads by mouse, pen and touch: a word is dragged to its new head, or to the bar of the root; a click chooses. */

const drag = {word: 0, target: -1, x: 0, y: 0, moving: false, band: null, timer: 0, pointer: -1};

/* The place of the pointer in the picture's own units. */
function pointIn(x, y) {
  const matrix = drawn.svg.getScreenCTM();
  return {x: (x - matrix.e) / matrix.a, y: (y - matrix.f) / matrix.d};
}

/* The word at a point of the window, 0 at the bar of the root, or -1. */
function targetAt(x, y) {
  const bar = find("root").getBoundingClientRect();
  if (y <= bar.bottom + 2 && y > bar.top - 30 && x > bar.left && x < bar.right) return 0;
  const place = pointIn(x, y);
  if (place.y < drawn.top - 26 || place.y > drawn.top + 70) return -1;
  let best = -1, distance = 60;
  drawn.centers.forEach((center, k) => {
    const away = Math.max(0, Math.abs(center - place.x) - textWidth(word(k + 1).form, `600 ${FORM}px`) / 2);
    if (away < distance) [best, distance] = [k + 1, away];
  });
  return best;
}

/* The word whose head a press at an element would move. */
function graspOf(event) {
  const part = event.target.closest("[data-word]");
  if (!part || part.classList.contains("other") || part.classList.contains("forbidden")) return 0;
  if (event.pointerType === "touch" && !part.classList.contains("word")) return 0;
  return Number(part.dataset.word);
}

function startDrag(event) {
  if (event.button !== 0 || !sentence || drag.moving) return;
  Object.assign(drag, {word: graspOf(event), target: -1, x: event.clientX, y: event.clientY, pointer: event.pointerId});
}

function moveDrag(event) {
  if (!drag.word || event.pointerId !== drag.pointer) return;
  if (!drag.moving) {
    if (Math.hypot(event.clientX - drag.x, event.clientY - drag.y) < 6) return;
    drag.moving = true;
    find("scroll").setPointerCapture(drag.pointer);
    document.body.classList.add("dragging");
    select(drag.word, true);
    drag.band = shape("path", {class: "band"});
    drawn.svg.append(drag.band);
  }
  drag.x = event.clientX;
  drag.y = event.clientY;
  follow();
  scrollAtEdges();
}

/* Draws the band from the word to the pointer, and marks the word under it. */
function follow() {
  const place = pointIn(drag.x, drag.y), start = drawn.centers[drag.word - 1], foot = drawn.top;
  const target = targetAt(drag.x, drag.y), end = target > 0 ? drawn.centers[target - 1] : place.x, tip = target > 0 ? foot : target === 0 ? 2 : place.y;
  const lift = target > 0 ? Math.max(18, foot - Math.max(14, Math.min(110, Math.abs(end - start) / 3))) : Math.min(foot, tip);
  drag.band.setAttribute("d", target > 0 ? `M${start} ${foot}C${start} ${lift} ${end} ${lift} ${end} ${tip}` : `M${start} ${foot}L${end} ${tip}`);
  markTarget(target === drag.word ? -1 : target);
  drag.target = target;
}

function markTarget(target) {
  for (const part of drawn.svg.querySelectorAll(".word")) part.classList.toggle("target", Number(part.dataset.word) === target);
  find("root").classList.toggle("target", target === 0);
}

/* A wide tree scrolls on while the pointer is at its edge. */
function scrollAtEdges() {
  clearInterval(drag.timer);
  const scroll = find("scroll"), box = scroll.getBoundingClientRect();
  const step = drag.x < box.left + 36 ? -14 : drag.x > box.right - 36 ? 14 : 0;
  if (!step || scroll.scrollWidth <= scroll.clientWidth) return;
  drag.timer = setInterval(() => { scroll.scrollLeft += step; follow(); }, 16);
}

function endDrag(event, dropped) {
  if (event.pointerId !== undefined && event.pointerId !== drag.pointer) return;
  const {word: m, target, moving} = drag;
  clearInterval(drag.timer);
  Object.assign(drag, {word: 0, moving: false, pointer: -1});
  if (!moving) return;
  document.body.classList.remove("dragging");
  drag.band.remove();
  markTarget(-1);
  suppressClick = true;
  setTimeout(() => { suppressClick = false; });
  if (dropped && target >= 0 && target !== m) setHead(m, target);
}

let suppressClick = false;
find("scroll").addEventListener("pointerdown", startDrag);
addEventListener("pointermove", moveDrag);
addEventListener("pointerup", (event) => endDrag(event, true));
addEventListener("pointercancel", (event) => endDrag(event, false));
find("scroll").addEventListener("click", (event) => {
  const part = event.target.closest("[data-word]");
  if (suppressClick || !part) return;
  const m = Number(part.dataset.word);
  if (attaching.word && part.classList.contains("word")) finishAttach(m);
  else if (part.classList.contains("forbidden")) edit({op: "free", word: m});
  else if (part.classList.contains("other")) takeOther(m);
  else {
    select(m);
    if (part.classList.contains("label")) chooseLabel(m, part);
  }
});
find("root").addEventListener("click", () => { if (attaching.word) finishAttach(0); });
