"use strict";
// Sorts a table by the clicked header and filters its rows; without it the tables still read.
const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

function compareCells(a, b, isNumber) {
  return isNumber ? Number(a) - Number(b) : collator.compare(a, b);
}

function sortBy(table, header) {
  const place = header.cellIndex;
  const isNumber = header.dataset.kind === "number";
  // Numbers start with the largest, text with A.
  const first = isNumber ? "descending" : "ascending";
  const second = isNumber ? "ascending" : "descending";
  const order = header.getAttribute("aria-sort") === first ? second : first;
  const sign = order === "ascending" ? 1 : -1;
  for (const other of header.parentElement.cells) other.removeAttribute("aria-sort");
  header.setAttribute("aria-sort", order);
  const key = (row) => row.cells[place].dataset.sort;
  const rows = Array.from(table.tBodies[0].rows);
  // Missing values stay last either way.
  rows.sort((x, y) => {
    const [a, b] = [key(x), key(y)];
    if (a === "" || b === "") return (a === "") - (b === "");
    return sign * compareCells(a, b, isNumber);
  });
  table.tBodies[0].append(...rows);
}

function filterRows(table, text, output) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const row of table.tBodies[0].rows) {
    const content = Array.from(row.cells, (cell) => cell.textContent).join(" ").toLowerCase();
    row.hidden = !words.every((word) => content.includes(word));
    shown += row.hidden ? 0 : 1;
  }
  output.textContent = words.length ? `${shown} of ${table.tBodies[0].rows.length} rows` : "";
}

for (const block of document.querySelectorAll("[data-table]")) {
  const table = block.querySelector("table");
  for (const header of table.tHead.rows[0].cells) {
    header.querySelector("button").addEventListener("click", () => sortBy(table, header));
  }
  const filter = block.querySelector(".filter");
  if (filter) {
    filter.hidden = false;
    const input = filter.querySelector("input");
    input.addEventListener("input", () => filterRows(table, input.value, filter.querySelector("output")));
  }
}
