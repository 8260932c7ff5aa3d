// Sorts, searches and opens the table of labelers. The page is complete without it.
"use strict";

document.documentElement.classList.add("js");

document.addEventListener("DOMContentLoaded", () => {
  const table = document.getElementById("labelers-table");
  if (!table) return;
  const FIRST = 50; // rows shown before "Show all"
  const search = document.getElementById("search");
  const finding = document.getElementById("finding");
  const shown = document.getElementById("shown");
  const showAll = document.getElementById("show-all");
  const headings = Array.from(table.tHead.rows[0].cells);
  const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
  const named = headings.findIndex((cell) => cell.textContent === "Group");
  let limit = FIRST;

  const ranks = Array.from(finding.options, (option) => option.value);
  const levels = ["serious", "look", "ok"];

  // What a cell is sorted by: a rank, a number, or else its text.
  function key(cell) {
    const text = cell.textContent;
    if (cell.dataset.v !== undefined) return cell.dataset.v === "" ? NaN : Number(cell.dataset.v);
    for (const words of [ranks, levels]) if (words.indexOf(text) >= 0) return words.indexOf(text);
    return Number.parseFloat(text.replaceAll(",", "").replace("−", "-"));
  }

  // Read once: looking things up in the page for every comparison would make sorting slow.
  let rows = Array.from(table.tBodies, (body) => {
    const cells = Array.from(body.rows[0].cells);
    const name = cells[0].textContent + (named > 0 ? " " + cells[named].textContent : "");
    return {
      body,
      finding: body.className,
      text: name.toLowerCase(),
      keys: cells.map((cell, place) =>
        place === 0 || place === named ? cell.textContent : key(cell),
      ),
    };
  });

  // The style makes a grid of the table; roles keep it a table for everybody. Rows get theirs when
  // they are shown first.
  function setRoles(part) {
    if (part.hasAttribute("role")) return;
    part.setAttribute("role", "rowgroup");
    for (const row of part.rows) {
      row.setAttribute("role", "row");
      for (const cell of row.cells) {
        const head = cell.scope === "col" ? "columnheader" : "rowheader";
        cell.setAttribute("role", cell.tagName === "TH" ? head : "cell");
      }
    }
  }
  table.setAttribute("role", "table");
  setRoles(table.tHead);

  const compare = (one, other) =>
    typeof one === "string" ? collator.compare(one, other) : one - other;

  function show() {
    const wanted = search.value.trim().toLowerCase();
    let found = 0;
    for (const row of rows) {
      const fits = row.text.includes(wanted) && (!finding.value || row.finding === finding.value);
      if (fits) found += 1;
      const hide = !fits || found > limit;
      if (!hide) setRoles(row.body);
      row.body.hidden = hide;
    }
    const visible = Math.min(found, limit);
    const number = (n) => n.toLocaleString("en");
    shown.textContent =
      visible === rows.length
        ? `${number(rows.length)} comparisons`
        : `${number(visible)} shown, ${number(found)} found, ${number(rows.length)} in all`;
    showAll.parentElement.hidden = found <= limit;
    showAll.textContent = `Show all ${number(found)}`;
  }

  function sort(place) {
    const heading = headings[place];
    const down = heading.getAttribute("aria-sort") === "ascending";
    for (const each of headings) each.setAttribute("aria-sort", "none");
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    const sign = down ? -1 : 1;
    rows = rows
      .map((row, order) => ({ row, order }))
      .sort((a, b) => {
        const one = a.row.keys[place];
        const other = b.row.keys[place];
        // What is not known stands last, whichever way the rest goes.
        const lost = Number(Number.isNaN(one)) - Number(Number.isNaN(other));
        return lost || sign * compare(one, other) || a.order - b.order;
      })
      .map(({ row }) => row);
    table.append(...rows.map((row) => row.body));
    show();
  }

  headings.forEach((cell, place) =>
    cell.querySelector("button").addEventListener("click", () => sort(place)),
  );
  table.addEventListener("click", (event) => {
    const button = event.target.closest("button.name");
    if (!button) return;
    const open = button.getAttribute("aria-expanded") !== "true";
    button.setAttribute("aria-expanded", String(open));
    document.getElementById(button.getAttribute("aria-controls")).classList.toggle("open", open);
  });
  search.addEventListener("input", show);
  finding.addEventListener("change", show);
  showAll.addEventListener("click", () => {
    limit = Infinity;
    show();
  });
  for (const each of document.querySelectorAll(".needs-script")) each.hidden = false;
  show();
});
