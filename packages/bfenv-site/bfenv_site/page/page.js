"use strict";
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const MOST = 6;
  const status = document.getElementById("status");
  document.documentElement.classList.add("js");

  // Sorting: a button in each heading; rows without a value stay last, ties keep their order.
  const sort = (table, column, heading) => {
    const up = heading.getAttribute("aria-sort") !== "ascending";
    const body = table.tBodies[0];
    const value = (row) => {
      const text = row.cells[column].dataset.v;
      if (text === undefined) return null;
      return text !== "" && !isNaN(text) && column > 0 ? Number(text) : text;
    };
    const rows = [...body.rows].map((row) => [value(row), row]);
    rows.sort(([a], [b]) => {
      if (a === null || b === null) return (a === null) - (b === null);
      return (a < b ? -1 : a > b ? 1 : 0) * (up ? 1 : -1);
    });
    body.append(...rows.map(([, row]) => row));
    all("th[aria-sort]", table).forEach((other) => other.removeAttribute("aria-sort"));
    heading.setAttribute("aria-sort", up ? "ascending" : "descending");
    status.textContent = `sorted by ${heading.textContent}, ${up ? "ascending" : "descending"}`;
  };
  for (const table of all("table.sortable")) {
    all("thead th", table).forEach((heading, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...heading.childNodes);
      heading.append(button);
      button.addEventListener("click", () => sort(table, column, heading));
    });
  }

  // Highlighting: what belongs to a policy has its number; a picked policy gets a free slot.
  const marked = new Map();
  for (const mark of all(".s[data-p]")) {
    const number = mark.dataset.p;
    if (!marked.has(number)) marked.set(number, []);
    marked.get(number).push(mark);
  }
  const slots = new Map();
  for (const [number, marks] of marked) {
    const slot = [...marks[0].classList].find((name) => name.startsWith("k"));
    if (slot) slots.set(number, slot);
  }
  const boxes = all(".pick");
  const free = () => [...Array(MOST).keys()].map((k) => `k${k}`)
    .find((slot) => ![...slots.values()].includes(slot));
  const show = (number) => {
    for (const mark of marked.get(number) || []) {
      for (const name of [...mark.classList]) if (/^k/.test(name)) mark.classList.remove(name);
      if (!slots.has(number)) continue;
      mark.classList.add(slots.get(number));
      if (mark.ownerSVGElement) mark.parentNode.append(mark);
    }
  };
  const updateBoxes = () => {
    const full = !free();
    for (const box of boxes) box.disabled = full && !box.checked && box.dataset.ref === undefined;
    const picked = document.getElementById("picked");
    if (picked) picked.textContent = `Tick up to ${MOST} policies to highlight them in the charts.`;
    placeLabels();
  };
  for (const box of boxes) {
    const number = box.dataset.p;
    if (slots.get(number) === "kref") box.dataset.ref = "";
    box.checked = slots.has(number);
    box.addEventListener("change", () => {
      if (!box.checked) slots.delete(number);
      else slots.set(number, box.dataset.ref === undefined ? free() : "kref");
      show(number);
      updateBoxes();
    });
  }

  // Filtering the ranked table by name.
  const filter = document.getElementById("filter");
  filter?.addEventListener("input", () => {
    const wanted = filter.value.trim().toLowerCase();
    const rows = all("#ranking tbody tr");
    for (const row of rows) row.hidden = !row.cells[0].textContent.toLowerCase().includes(wanted);
    status.textContent = `${rows.filter((row) => !row.hidden).length} policies shown`;
  });

  // Labels of points: the first of eight positions where they cover nothing and stay inside.
  const AROUND = [["9", ".35em", "start"], ["-9", ".35em", "end"], ["0", "-.8em", "middle"],
    ["0", "1.6em", "middle"], ["7", "-.6em", "start"], ["-7", "-.6em", "end"],
    ["7", "1.4em", "start"], ["-7", "1.4em", "end"]];
  const placeLabels = () => {
    for (const chart of all("svg.plot")) {
      const frame = chart.getBoundingClientRect();
      const labels = all(".s[class*=' k'] .label", chart);
      const taken = all(".s[class*=' k'] circle", chart).map((c) => c.getBoundingClientRect());
      for (const label of labels) {
        const own = label.previousSibling.getBoundingClientRect();
        let best = null;
        for (const [dx, dy, anchor] of AROUND) {
          label.setAttribute("dx", dx);
          label.setAttribute("dy", dy);
          label.setAttribute("text-anchor", anchor);
          const box = label.getBoundingClientRect();
          const outside = Math.max(0, frame.left - box.left) + Math.max(0, box.right - frame.right)
            + Math.max(0, frame.top - box.top) + Math.max(0, box.bottom - frame.bottom);
          let covered = outside * 100;
          for (const other of taken) {
            if (other.left === own.left && other.top === own.top) continue;
            covered += Math.max(0, Math.min(box.right, other.right) - Math.max(box.left, other.left))
              * Math.max(0, Math.min(box.bottom, other.bottom) - Math.max(box.top, other.top));
          }
          if (!best || covered < best.covered) best = { covered, dx, dy, anchor, box };
          if (covered === 0) break;
        }
        label.setAttribute("dx", best.dx);
        label.setAttribute("dy", best.dy);
        label.setAttribute("text-anchor", best.anchor);
        taken.push(best.box);
      }
    }
  };
  // Tables that are wider than their frame say so.
  const tellWide = () => {
    for (const frame of all(".scroll")) {
      frame.classList.toggle("scrolls", frame.scrollWidth > frame.clientWidth + 1);
    }
  };
  const update = () => { placeLabels(); tellWide(); };
  addEventListener("resize", update);
  document.addEventListener("toggle", update, true);

  // Export: each table as CSV and as LaTeX, each chart as SVG with its styles in it.
  const save = (name, type, text) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  const fileName = (text) => text.toLowerCase().replace(/[^a-z0-9]+/g, "-").slice(0, 60);
  const words = (cell) => {
    const copy = cell.cloneNode(true);
    for (const part of all("svg, .more, .entry", copy)) part.remove();
    return copy.textContent.trim();
  };
  const cellsOf = (table) => [table.tHead.rows[0], ...table.tBodies[0].rows]
    .filter((row) => !row.hidden).map((row) => [...row.cells].map(words));
  const csv = (table) => cellsOf(table).map((row) => row.map((text) => {
    const safe = /^[=+@\t-]/.test(text) && isNaN(text) ? `'${text}` : text;
    return /[",\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  }).join(",")).join("\n") + "\n";
  const LATEX = { "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}",
    "−": "$-$", "×": "$\\times$", "–": "--", "<": "\\textless{}", ">": "\\textgreater{}", "|": "\\textbar{}" };
  const latexText = (text) => text.replace(/[&%$#_{}\\~^−×–<>|]/g, (c) => LATEX[c] || `\\${c}`);
  const latex = (table, caption) => {
    const [head, ...rows] = cellsOf(table);
    const left = [...table.tHead.rows[0].cells].map((cell) => !cell.classList.contains("n"));
    const body = rows.map((row) => row.map(latexText));
    const ranked = table.classList.contains("sortable");
    head.forEach((name, i) => {
      if (!ranked || left[i] || !/slowdown|wait|EASY's/.test(name) || /interval|difference/.test(name)) return;
      const values = rows.map((row) => parseFloat(row[i].replaceAll(",", "")));
      const least = Math.min(...values.filter((x) => !isNaN(x)));
      values.forEach((x, k) => { if (x === least) body[k][i] = `\\textbf{${body[k][i]}}`; });
    });
    const line = (cells) => `${cells.join(" & ")} \\\\`;
    return ["\\begin{table}  % \\usepackage{booktabs}", "\\centering",
      `\\caption{${latexText(caption)}}`, `\\begin{tabular}{${left.map((x) => x ? "l" : "r").join("")}}`,
      "\\toprule", line(head.map(latexText)), "\\midrule", ...body.map(line), "\\bottomrule",
      "\\end{tabular}", "\\end{table}", ""].join("\n");
  };
  const STYLES = ["fill", "stroke", "stroke-width", "stroke-dasharray", "fill-opacity",
    "opacity", "font-size",
    "font-weight", "font-family", "text-anchor", "display", "paint-order", "vector-effect"];
  const svgText = (chart) => {
    const copy = chart.cloneNode(true);
    const sources = [chart, ...all("*", chart)];
    [copy, ...all("*", copy)].forEach((part, i) => {
      if (part.closest("defs")) return;  // they have the style of where they are used
      const style = getComputedStyle(sources[i]);
      for (const name of STYLES) part.setAttribute(name, style.getPropertyValue(name));
    });
    const frame = chart.parentNode.getBoundingClientRect(), own = chart.getBoundingClientRect();
    for (const name of ["width", "height"]) copy.setAttribute(name, own[name]);
    copy.setAttribute("x", own.left - frame.left);
    copy.setAttribute("y", own.top - frame.top);
    copy.setAttribute("overflow", "visible");
    copy.setAttribute("display", "inline");
    const paper = getComputedStyle(document.body).backgroundColor;
    return `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" ` +
      `width="${Math.max(frame.width, own.width)}" height="${Math.max(frame.height, own.height)}">` +
      `<rect width="100%" height="100%" fill="${paper}"/>` +
      `${new XMLSerializer().serializeToString(copy)}</svg>`;
  };
  const offer = (after, name, kinds) => {
    const line = document.createElement("p");
    line.className = "export";
    for (const [kind, type, make] of kinds) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = kind;
      button.setAttribute("aria-label", `${name} as ${kind}`);
      button.addEventListener("click", () =>
        save(`${fileName(name)}.${kind === "LaTeX" ? "tex" : kind.toLowerCase()}`, type, make()));
      line.append(button);
    }
    after.after(line);
  };
  for (const table of all(".scroll > table")) {
    const name = words(table.caption);
    offer(table.parentNode, name, [["CSV", "text/csv", () => csv(table)],
      ["LaTeX", "application/x-tex", () => latex(table, name)]]);
  }
  for (const chart of all("svg.plot, .gantt > svg")) {
    const name = chart.querySelector("title")?.textContent;
    const label = chart.classList.contains("plot") ? name : chart.parentNode.getAttribute("aria-label");
    offer(chart.parentNode, label, [["SVG", "image/svg+xml", () => svgText(chart)]]);
  }

  // A link into a folded part unfolds it.
  const unfold = () => {
    const part = location.hash && document.getElementById(location.hash.slice(1));
    const fold = part && part.querySelector("details.section");
    if (fold) fold.open = true;
  };
  addEventListener("hashchange", unfold);
  unfold();

  // The same job under two policies: pointing at one marks both.
  for (const chart of all(".gantt")) {
    const jobs = new Map();
    for (const title of all("title", chart)) {
      const job = title.textContent.split(":")[0];
      jobs.set(job, [...(jobs.get(job) || []), title.parentNode]);
    }
    const mark = (event) => {
      for (const box of all(".marked", chart)) box.classList.remove("marked");
      const title = event.target.closest("g")?.querySelector(":scope > title");
      for (const box of title ? jobs.get(title.textContent.split(":")[0]) || [] : []) {
        box.classList.add("marked");
      }
    };
    chart.addEventListener("pointerover", mark);
  }

  // Unfold everything for printing.
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = all("details.section:not([open]), details.workload:not([open])");
    for (const part of folded) part.open = true;
  });
  addEventListener("afterprint", () => { for (const part of folded) part.open = false; });
  updateBoxes();
  tellWide();
})();
