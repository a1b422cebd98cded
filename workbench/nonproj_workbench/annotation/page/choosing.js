/* The field in which a label, a tag or any other column is typed, with a list of completions. */

const choosing = {active: null, options: [], at: 0, pressed: null};

/* Opens the field beside an element: {title, anchor, value, options, free, note, pick, move}. Options are strings; with
`free`, any other text is allowed; `pick` gets the text, and `move`, if any, what Tab does after it. */
function choose(wanted) {
  if (choosing.active) closeChooser(false);
  choosing.active = {...wanted, from: document.activeElement};
  const box = find("chooser"), input = find("choice");
  find("chooser-title").textContent = wanted.title;
  find("chooser-note").textContent = wanted.note || (wanted.options ? "type to search, ↑ ↓ and Enter choose, Esc leaves" : "Enter sets it, Esc leaves");
  input.value = wanted.value || "";
  input.dir = "auto";
  box.hidden = false;
  listChoices("");
  placeChooser(wanted.anchor);
  input.focus({preventScroll: true});
  input.select();
}

/* Puts the field below its anchor, or above it if there is no room, always within the window. */
function placeChooser(anchor) {
  const box = find("chooser"), place = anchor.getBoundingClientRect(), size = box.getBoundingClientRect();
  const left = Math.max(8, Math.min(place.left - 8, innerWidth - size.width - 8));
  const under = place.bottom + 4, fits = under + size.height < innerHeight - 8;
  const top = fits ? under : Math.max(8, Math.min(place.top - size.height - 4, innerHeight - size.height - 8));
  box.style.left = `${left}px`;
  box.style.top = `${top}px`;
}

/* The options that match a text: those that are equal, begin with it, or contain it, in this order. */
function matching(options, text) {
  const typed = text.toLocaleLowerCase(), ranks = [[], [], []];
  for (const option of options) {
    const lower = option.toLocaleLowerCase(), at = lower.indexOf(typed);
    if (at >= 0) ranks[lower === typed ? 0 : at === 0 ? 1 : 2].push(option);
  }
  return ranks.flat();
}

function listChoices(text) {
  const {options, value, free} = choosing.active, list = find("choices");
  list.hidden = !options;
  if (!options) {
    choosing.options = [];
    list.replaceChildren();
    return;
  }
  const found = matching(options, text).slice(0, 300);
  if (free && text && !found.includes(text)) found.push(text);
  choosing.options = found;
  choosing.at = text ? 0 : Math.max(0, found.indexOf(value));
  list.replaceChildren(...found.map((option, k) => {
    const row = make("li", "", option);
    row.id = `choice-${k}`;
    row.setAttribute("role", "option");
    if (!options.includes(option)) row.append(make("span", "faint", " new"));
    row.addEventListener("mousedown", (event) => event.preventDefault());  // the field keeps the focus
    row.addEventListener("pointerdown", ({clientX, clientY}) => { choosing.pressed = {k, x: clientX, y: clientY}; });
    row.addEventListener("pointerup", (event) => {  // not after scrolling by touch, which cancels the pointer
      const {pressed} = choosing;
      choosing.pressed = null;
      if (event.button !== 0 || !pressed || pressed.k !== k || Math.hypot(event.clientX - pressed.x, event.clientY - pressed.y) > 10) return;
      choosing.at = k;
      take();
    });
    row.addEventListener("touchend", (event) => { if (!choosing.active) event.preventDefault(); });  // no click on what is behind it
    return row;
  }));
  markChoice();
}

function markChoice() {
  const rows = find("choices").children;
  for (let k = 0; k < rows.length; k++) rows[k].setAttribute("aria-selected", String(k === choosing.at));
  const row = rows[choosing.at];
  if (row) {
    find("choice").setAttribute("aria-activedescendant", row.id);
    row.scrollIntoView({block: "nearest"});
  } else find("choice").removeAttribute("aria-activedescendant");
}

function closeChooser(back) {
  const {from} = choosing.active || {};
  choosing.active = null;
  find("chooser").hidden = true;
  if (back) (from && from.isConnected && from !== document.body ? from : find("scroll")).focus({preventScroll: true});
}

/* Takes the option that is marked, or the text if there are no options. */
function take(move) {
  const {options, pick, value, move: next} = choosing.active, typed = find("choice").value;
  const chosen = options ? choosing.options[choosing.at] : typed;
  closeChooser(true);
  if (chosen !== undefined && chosen !== value) pick(chosen);
  if (move && next) next(move);
}

find("choice").addEventListener("input", () => listChoices(find("choice").value));
find("choice").addEventListener("keydown", (event) => {
  event.stopPropagation();
  if (event.isComposing) return;
  const last = choosing.options.length - 1;
  const steps = {ArrowDown: Math.min(last, choosing.at + 1), ArrowUp: Math.max(0, choosing.at - 1), PageDown: Math.min(last, choosing.at + 8), PageUp: Math.max(0, choosing.at - 8)};
  if (event.key in steps) {
    choosing.at = steps[event.key];
    markChoice();
  } else if (event.key === "Enter") take(0);
  else if (event.key === "Tab") take(event.shiftKey ? -1 : 1);
  else if (event.key === "Escape") closeChooser(true);
  else return;
  event.preventDefault();
});
find("choice").addEventListener("blur", () => { if (choosing.active) setTimeout(() => { if (choosing.active && document.activeElement !== find("choice")) closeChooser(false); }); });
