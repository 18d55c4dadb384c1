// Tables that sort and filter, search, fits on demand, figures enlarged: what the pages do besides being read.
(() => {
  "use strict";
  const root = document.body.dataset.root;
  const element = (name, properties, ...inside) => {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...inside);
    return made;
  };
  // Scripts, because a page opened from a file may not fetch.
  const loaded = {};
  const load = (source) => loaded[source] ??= new Promise((resolve, reject) => {
    document.head.append(element("script", { src: source, onload: resolve, onerror: reject }));
  });

  // ------------------------------------------------------------------------------------------------ tables
  const PAGE = 25;
  const LONG = 50;
  function sorted(table, options = {}) {
    const rows = options.data ? options.data.length : table.tBodies[0].rows.length;
    const box = table.closest(".scroll");
    if (box) box.replaceWith(table);
    const paged = rows > LONG;
    const shown = new DataTable(table, {
      order: [], autoWidth: false, paging: paged, pageLength: PAGE, info: paged, searching: rows > 7,
      deferRender: true, language: { search: "Filter:", searchPlaceholder: "any word" },
      layout: { topStart: "search", topEnd: null, bottomStart: paged ? "info" : null, bottomEnd: paged ? "paging" : null },
      ...options,
    });
    const frame = shown.table().container();
    const scrolled = table.parentElement;
    scrolled.classList.add("scroll");
    scrolled.tabIndex = 0;
    const named = table.dataset.filter ? table.dataset.filter.split(",") : [];
    const bar = element("div", { className: "filters" });
    for (const name of named) choice(shown, name, bar);
    const search = frame.querySelector(".dt-search");
    if (bar.children.length) search ? search.before(bar) : frame.prepend(bar);
    return shown;
  }

  // A menu above a table that keeps the lines with one value of a column.
  function choice(shown, name, bar) {
    const column = shown.columns().indexes().toArray()
      .map((i) => shown.column(i)).find((one) => one.header().textContent.trim() === name);
    if (!column) return;
    const text = (cell) => element("div", { innerHTML: cell }).textContent.trim();
    const values = [...new Set(column.data().toArray().map((cell) => text(String(cell))))].filter(Boolean).sort();
    if (values.length < 2) return;
    const menu = element("select", { title: name }, element("option", { value: "", textContent: `${name}: all` }),
      ...values.map((value) => element("option", { value, textContent: `${name}: ${value}` })));
    menu.setAttribute("aria-label", name);
    const keep = () => column.search(menu.value, { exact: menu.value !== "" }).draw();
    menu.addEventListener("change", keep);
    const first = (shown.table().node().dataset.first ?? "").split("=");
    if (first[0] === name && values.includes(first[1])) { menu.value = first[1]; keep(); }
    bar.append(menu);
  }

  for (const table of document.querySelectorAll("table.sorts")) sorted(table);
  for (const table of document.querySelectorAll(".doc table")) {
    if (table.tHead && table.tHead.textContent.trim() && table.tBodies[0]?.rows.length > 7) {
      const folded = table.closest("details");
      if (!folded || folded.open) sorted(table);
      else folded.addEventListener("toggle", () => sorted(table), { once: true });
    }
  }

  // A document whose tables need the width has its contents above it, closed, as on a phone.
  const reading = document.querySelector(".reading");
  if (reading) {
    const wide = [...reading.querySelectorAll(".scroll")].some((box) => box.scrollWidth > box.clientWidth);
    reading.classList.toggle("wide", wide);
    for (const list of reading.querySelectorAll(".contents details")) {
      list.open = !wide && matchMedia("(min-width: 62rem)").matches;
    }
  }

  // -------------------------------------------------------------------------------------------------- fits
  window.tiltedFits = {};
  const CHOICES = 30;
  async function showFits(button) {
    const place = button.closest(".fits").querySelector(".shown");
    for (const other of button.parentElement.children) other.setAttribute("aria-pressed", other === button);
    await load(button.dataset.script);
    const columns = tiltedFits[button.dataset.fits];
    const where = JSON.parse(button.dataset.where);
    const cell = ([, words, values], i) => words ? words[values[i]] : values[i];
    // The library takes what is in a cell for HTML; records hold text, such as "<class 'float'>" in a reason.
    const plain = (value) => element("div", { textContent: value ?? "" }).innerHTML;
    const lines = [];
    for (let i = 0; i < columns[0][2].length; i++) {
      // A column of numbers was read with pandas: 1 may have been 1.0 there.
      if (columns.every((column) => !where[column[0]]
        || where[column[0]].some((value) => column[1] ? value === cell(column, i) : Number(value) === cell(column, i)))) {
        lines.push(columns.map((column) => column[1] ? plain(cell(column, i)) : cell(column, i) ?? ""));
      }
    }
    const table = element("table", { className: "sorts" }, element("thead", {}, element("tr", {},
      ...columns.map(([name]) => element("th", { scope: "col", textContent: name })))));
    table.dataset.filter = columns.filter(([, words]) => words && words.length <= CHOICES).map(([name]) => name).join(",");
    place.replaceChildren(table);
    const classes = columns.map(([, words], i) => ({ targets: i, className: words ? "" : "n" }));
    sorted(table, { data: lines, columnDefs: classes });
  }
  for (const button of document.querySelectorAll("[data-fits]")) {
    button.addEventListener("click", () => showFits(button));
  }

  // ------------------------------------------------------------------------------------------------ search
  const field = document.getElementById("search");
  const results = document.getElementById("results");
  const EXCERPT = 110;
  let index;
  window.tiltedPages = (pages) => {
    index = new MiniSearch({
      fields: ["title", "text"], storeFields: ["title", "kind", "url", "text"], idField: "url",
      searchOptions: { boost: { title: 4 }, prefix: true, fuzzy: (word) => /\d/.test(word) ? false : 0.15,
        // A page before its sections, whose titles are shorter.
        boostDocument: (url) => url.includes("#") ? 0.5 : 1 },
    });
    index.addAll(pages);
  };
  // Whole words of a page, from a little before the first that was found.
  function excerpt({ text, terms }) {
    const found = terms.map((term) => text.toLowerCase().indexOf(term)).filter((at) => at > EXCERPT - 30);
    const from = found.length ? Math.max(0, text.indexOf(" ", Math.min(...found) - 30)) : 0;
    const shown = text.slice(from, from + EXCERPT);
    const whole = from + EXCERPT < text.length ? shown.replace(/\s+\S*$/, " …") : shown;
    return from ? `…${whole}` : whole;
  }
  async function search() {
    const words = field.value.trim();
    results.hidden = !words;
    if (!words) return;
    await load(`${root}assets/minisearch.js`);
    await load(`${root}assets/search.js`);
    const found = index.search(words);
    document.getElementById("found").textContent = found.length ? `${found.length} found` : "Nothing found";
    results.querySelector("ol").replaceChildren(...found.slice(0, 12).map((one) => element("li", {},
      element("a", { href: root + one.url }, element("b", { textContent: one.title }),
        element("span", { className: "kind", textContent: one.kind }),
        element("span", { className: "text", textContent: excerpt(one) })))));
  }
  field.addEventListener("input", search);
  field.addEventListener("keydown", (event) => {
    const first = results.querySelector("a");
    if (event.key === "Enter" && first) location.href = first.href;
    if (event.key === "ArrowDown" && first) { first.focus(); event.preventDefault(); }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") results.hidden = true;
    if (event.key === "/" && !/INPUT|SELECT|TEXTAREA/.test(document.activeElement.tagName)) {
      field.focus();
      event.preventDefault();
    }
  });
  document.addEventListener("click", (event) => {
    if (!event.target.closest("search")) results.hidden = true;
  });

  // ----------------------------------------------------------------------------------------------- figures
  const dialog = element("dialog", { className: "large" });
  document.body.append(dialog);
  dialog.addEventListener("click", ({ target }) => {
    if (target.tagName === "IMG") target.classList.toggle("whole"); else if (target.tagName !== "P") dialog.close();
  });
  for (const link of document.querySelectorAll("a.enlarge")) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      const { alt } = link.querySelector("img");
      dialog.replaceChildren(element("button", { type: "button", autofocus: true, textContent: "Close" }),
        element("div", { className: "scroll", tabIndex: 0 }, element("img", { src: link.href, alt })), element("p", { textContent: alt }));
      dialog.showModal();
    });
  }
})();
