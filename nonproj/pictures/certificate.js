/* The certificate of a tree: a button that opens what it rests on. Its numbers are those of
nonproj.evaluation.certificates.statistics, of which a file may lack some. */

const counted = (number, name) => `${number.toLocaleString("en")} ${name}${number === 1 ? "" : "s"}`;

/* The arcs that it covers, as nonproj.evaluation.certificates.covered has them. */
export function coveredArcs({arcs}, words) {
  if (!arcs) return "its candidate arcs";
  return `${arcs === words ** 2 ? "all" : `${arcs.toLocaleString("en")} of`} ${counted(words ** 2, "arc")}`;
}

function factsOfCertificate(numbers, words, decisions) {
  const {certified, gap, score, bound, iterations, nodes, arcs, full, price, projective, rank} = numbers;
  const tree = `no ${projective ? "projective " : ""}tree over these arcs${decisions ? ` that obeys your ${counted(decisions, "decision")}` : ""}${rank > 1 ? `, except those before it (${rank - 1}),` : ""}`;
  const pruned = !full && arcs !== words ** 2, others = pruned ? "; the others were pruned" : arcs === words ** 2 ? "" : "; the others are forbidden";
  return Object.entries({
    [certified ? "Proved" : "Not proved"]: `${tree} scores higher`,
    "Gap": !certified && Number.isFinite(gap) && `another tree may score up to ${Number(gap.toPrecision(3))} higher`,
    "Arcs": coveredArcs(numbers, words) + others,
    "Score": Number.isFinite(score) && `${score.toFixed(2)}; its upper bound: ${Number.isFinite(bound) ? bound.toFixed(2) : "unknown"}`,
    "Search": [iterations !== undefined && counted(iterations, "iteration"), nodes && `${counted(nodes, "node")} of branch and bound`].filter(Boolean).join(", "),
    "Price": price && `trees with crossing arcs pay ${price}`,
    "On trust": ["the scores are the model's", pruned && "no better tree has a pruned arc", decisions && "your decisions are right"].filter(Boolean).join("; "),
    "As data": "nonproj parse --proofs FILE writes the proof; nonproj-check-proofs FILE checks it",
  }).filter(([, fact]) => fact);
}

/* Returns the button and what it opens. */
export function showCertificate(text, className, numbers, words, decisions = 0) {
  const button = document.createElement("button"), list = document.createElement("dl");
  Object.assign(button, {type: "button", className: `certificate ${className}`, textContent: text, title: "what this rests on", popoverTargetElement: list});
  list.popover = "auto";
  for (const each of factsOfCertificate(numbers, words, decisions)) list.append(...each.map((fact, i) => Object.assign(document.createElement(i ? "dd" : "dt"), {textContent: fact})));
  return [button, list];
}
