/* The colours of a page: light, dark, or as the system, chosen by its button `theme` and kept in the browser. */

export function nextTheme() {
  const root = document.documentElement, dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const order = dark ? ["", "light", "dark"] : ["", "dark", "light"], old = root.dataset.theme || "";
  const theme = order[(order.indexOf(old) + 1) % 3];
  if (theme) root.dataset.theme = theme;
  else delete root.dataset.theme;
  document.getElementById("theme").setAttribute("aria-label", `colours: ${theme || "as the system"}`);
  try { localStorage.setItem("nonproj-theme", theme); } catch { /* the page has no storage */ }
}

try { const theme = localStorage.getItem("nonproj-theme"); if (theme) document.documentElement.dataset.theme = theme; } catch { /* none */ }
document.getElementById("theme").addEventListener("click", nextTheme);
