/* Elements, requests to the server, the banner while it cannot be reached, and messages. */

/** @type {(id: string) => any} */
const find = (id) => document.getElementById(id);
const token = new URLSearchParams(location.search).get("token") || "";
const connection = {lost: false, strange: false, back: []};
/** @type {any} */
let file = null;
/** @type {any} */
let sentence = null;

function make(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

/* A button, whose title names its key. */
function button(text, title, action, className) {
  const made = make("button", className || "", text);
  made.type = "button";
  if (title) made.title = title;
  made.addEventListener("click", action);
  return made;
}

const several = (number, one, many) => `${number.toLocaleString("en")} ${number === 1 ? one : many || `${one}s`}`;
const percent = (share) => `${Math.round(100 * share)} %`;
const absent = (column) => (column === null || column === undefined || column === "_" ? "" : String(column));

/* -- requests -------------------------------------------------------------------------------------------------------- */

/* The server's answer with another status than 200: `status`, and the body, whose `error` is the message. */
class Refusal extends Error {
  constructor(status, body) {
    super(body.error || `the server answers with status ${status}`);
    this.status = status;
    this.body = body;
  }
}

/* There is no answer. */
class Lost extends Error {}

async function ask(path, body) {
  /** @type {RequestInit & {headers: Record<string, string>}} */
  const options = {headers: {"X-Token": token}, cache: "no-store", signal: AbortSignal.timeout(body === undefined ? 30000 : 180000)};
  if (body !== undefined) {
    Object.assign(options, {method: "POST", body: JSON.stringify(body)});
    options.headers["Content-Type"] = "application/json";
  }
  let response, text;
  try {
    response = await fetch(`api/${path}`, options);
    text = await response.text();
  } catch (error) {
    lose(true);
    throw new Lost(error.message);
  }
  let answer;
  try {
    answer = JSON.parse(text);
  } catch {
    answer = {error: text.trim().split("\n")[0]};
  }
  connection.strange = response.status === 403;
  lose(connection.strange);
  if (connection.strange) throw new Lost(answer.error);
  if (!response.ok) throw new Refusal(response.status, answer);
  return answer;
}

/* Shows or hides the banner; functions in `connection.back` are called once when the server answers again. */
function lose(lost) {
  if (lost || connection.lost !== lost) {
    find("lost").textContent = connection.strange
      ? "The server has been started again with another address: open the address that it has printed. Nothing can be edited here."
      : `The server cannot be reached. Nothing can be edited until it is back${pending() ? "; your last edit is kept and will be sent then" : ""}. Trying again every second …`;
    find("lost").hidden = !lost;
    document.body.classList.toggle("lost", lost);
  }
  const returned = connection.lost && !lost;
  connection.lost = lost;
  if (returned) for (const action of connection.back.splice(0)) action();
}

/* -- messages -------------------------------------------------------------------------------------------------------- */

let noticeAgain = null;

/* Shows a message above the sentence; `again` is the action of its button. */
function notice(text, again, kind) {
  find("notice-text").textContent = text;
  find("notice").hidden = !text;
  find("notice").classList.toggle("bad", kind === "bad");
  find("notice-again").hidden = !again;
  noticeAgain = again || null;
}

function report(error) {
  if (!(error instanceof Lost)) notice(error.message, null, "bad");
}

find("notice-close").addEventListener("click", () => notice(""));
find("notice-again").addEventListener("click", () => {
  const action = noticeAgain;
  notice("");
  action?.();
});

/* -- rows in view ---------------------------------------------------------------------------------------------------- */

/* Keeps only those of a list's rows, all of one height, that are in view: `build(k)` makes row k, and `place(first,
rows, after)` puts them into the page; `after` is the number of rows behind them. */
class RowsInView {
  constructor(viewport, height, build, place) {
    this.viewport = viewport;
    this.height = height;
    this.build = build;
    this.place = place;
    this.count = 0;
    this.first = this.last = -1;
    viewport.addEventListener("scroll", () => this.update(false), {passive: true});
    new ResizeObserver(() => this.update(false)).observe(viewport);
  }

  show(count) {
    this.count = count;
    this.update(true);
  }

  update(anew) {
    const visible = Math.ceil((this.viewport.clientHeight || 600) / this.height);
    const top = Math.max(0, Math.min(this.count - 1, Math.floor(this.viewport.scrollTop / this.height)));
    const first = Math.max(0, top - 8), last = Math.min(this.count, top + visible + 8);
    if (!anew && top >= this.first && Math.min(this.count, top + visible) <= this.last) return;
    this.first = first;
    this.last = last;
    const rows = [];
    for (let k = first; k < last; k++) rows.push(this.build(k));
    this.place(first, rows, this.count - last);
  }

  reveal(k, above) {
    const margin = above || 0, top = k * this.height, port = this.viewport;
    if (top < port.scrollTop) port.scrollTop = top - this.height;
    else if (top + this.height + margin > port.scrollTop + port.clientHeight) port.scrollTop = top + 2 * this.height + margin - port.clientHeight;
    this.update(false);
  }
}
