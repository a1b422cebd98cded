/* The tables of the analysis. */

import {visible} from "../../pictures/tree.js";
import {count, data, find, items, make, sentences, state} from "./page.js";
import {choose, draw} from "./drawing.js";
import {showOnly} from "./results.js";

const isText = (column) => ["text", "label", "tag", "sentence"].includes(column.kind);

function cellOf(value, column) {
  const cell = make("td", [column.second ? "second" : "", isText(column) ? "text" : ""].join(" ").trim());
  if (value === null || value === undefined) cell.textContent = "–";
  else if (column.kind === "share") {
    cell.textContent = (100 * value).toFixed(2);
    const meter = make("span", "meter"), bar = make("i");
    bar.style.width = `${100 * Math.max(0, Math.min(1, value))}%`;
    meter.append(bar);
    if (!column.bare) cell.append(meter);
  } else if (column.kind === "difference") cell.textContent = (value > 0 ? "+" : "") + (100 * value).toFixed(2);
  else if (column.kind === "p") cell.textContent = value.toFixed(4);
  else if (column.kind === "sentence") {
    const [n, word, place] = value, link = make("button", "", place);
    link.title = "show the sentence";
    link.addEventListener("click", () => showWord(n, word));
    cell.append(link);
  } else if (typeof value === "number") cell.textContent = count(value);
  else if (column.kind === "label" || column.kind === "tag") {
    const link = make("button", "", value || "_");
    link.title = "show the sentences";
    link.addEventListener("click", () => {
      view("sentences");
      showOnly({differs: state.beside >= 0 ? "any" : "", [column.kind]: value});
    });
    cell.append(link);
  } else cell.textContent = visible(value);
  return cell;
}

/* Show a sentence, and choose one of its words unless the number is 0. */
function showWord(n, word) {
  view("sentences");
  showOnly({});
  draw(n);
  if (word) choose(items.get(n), sentences[n], word - 1);
  items.get(n).article.scrollIntoView({block: "center"});
}

function buildTables() {
  const place = find("tables"), grid = make("div", "tables");
  for (const each of data.tables) {
    const box = make("div", "table"), table = make("table"), head = make("tr"), body = make("tbody"), top = make("thead");
    box.append(make("h3", "", each.title));
    if (each.note) box.append(make("p", "note", each.note));
    for (const column of each.columns) {
      const cell = make("th", isText(column) ? "text" : "", column.name);
      cell.scope = "col";
      head.append(cell);
    }
    top.append(head);
    for (const row of each.rows) {
      const line = make("tr");
      row.forEach((value, i) => line.append(cellOf(value, each.columns[i])));
      body.append(line);
    }
    table.append(top, body);
    box.append(table);
    grid.append(box);
  }
  place.replaceChildren(grid);
}

export function view(name) {
  for (const each of ["sentences", "analysis"]) {
    find(each).hidden = each !== name;
    find(`tab-${each}`).setAttribute("aria-selected", String(each === name));
    find(`tab-${each}`).tabIndex = each === name ? 0 : -1;
  }
  find("controls").hidden = name !== "sentences";
  if (name === "analysis" && !find("tables").childElementCount) buildTables();
  scrollTo(0, 0);
}
