/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The charts of a report, drawn by Vega from the tables of the page; sorting and filtering of
 * these. Names of tensors come from a file and may be anything: they are only ever text. */
(() => {
    "use strict";
    /* Whatever goes wrong with the charts, the tables are shown. */
    const reveal = () => document.querySelectorAll(".long").forEach((e) => e.classList.add("ready"));
    addEventListener("error", reveal);
    const byId = (id) => document.getElementById(id);
    const page = JSON.parse(byId("data").textContent);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const views = {};
    let shown = 0; /* the number of the model that the charts show */
    let picked = -1; /* the row of the tensor in #detail */

    /* ---- tables ---- */

    /* The number that a cell begins with, that of elements for a shape; null if it has none. */
    function number(text) {
        if (text.includes("×")) return text.split("×").reduce((product, n) => product * Number(n), 1);
        if (text === "exact") return Infinity;
        const value = parseFloat(text.replaceAll(",", ""));
        return Number.isNaN(value) ? null : value;
    }

    const headings = (table) => [...table.tHead.rows[0].cells];

    /* One object for each row: the text of each cell by the key of its column. */
    function read(table) {
        const keys = headings(table).map((cell) => cell.dataset.key);
        return [...table.tBodies[0].rows].map((tr) => {
            const row = { row: Number(tr.dataset.row), tr };
            keys.forEach((key, i) => (row[key] = tr.cells[i].textContent));
            return row;
        });
    }

    function sort(table, heading) {
        const column = heading.cellIndex;
        const now = heading.getAttribute("aria-sort");
        const down = now ? now === "ascending" : !textual(heading);
        const rows = [...table.tBodies[0].rows].map((tr) => {
            const text = tr.cells[column].textContent;
            return { tr, key: textual(heading) ? text : number(text) };
        });
        const order = new Intl.Collator("en", { numeric: true }).compare;
        rows.sort((a, b) => {
            if (a.key === null || b.key === null) return (a.key === null) - (b.key === null);
            const by = textual(heading) ? order(a.key, b.key) : a.key < b.key ? -1 : a.key > b.key;
            return down ? -by : by;
        });
        headings(table).forEach((cell) => cell.removeAttribute("aria-sort"));
        heading.setAttribute("aria-sort", down ? "descending" : "ascending");
        table.tBodies[0].append(...rows.map((row) => row.tr));
    }

    const textual = (heading) => heading.cellIndex === 0 || heading.classList.contains("l");

    function addControls(table) {
        for (const heading of headings(table)) {
            const button = document.createElement("button");
            button.type = "button";
            button.textContent = heading.textContent;
            button.addEventListener("click", () => sort(table, heading));
            heading.replaceChildren(button);
        }
        const label = document.createElement("label");
        const input = document.createElement("input");
        input.type = "search";
        label.append("Only names with ", input);
        label.className = "controls";
        table.parentElement.before(label);
        input.addEventListener("input", () => {
            const part = input.value.toLowerCase();
            for (const tr of table.tBodies[0].rows) {
                tr.hidden = !tr.cells[0].textContent.toLowerCase().includes(part);
            }
        });
    }

    const tables = [...document.querySelectorAll("table.tensors")];
    const models = tables.map((table, i) => ({ table, rows: read(table), ...page.models[i] }));
    const pairTable = document.querySelector("table.pairs");
    const pairs = pairTable ? read(pairTable) : [];
    [...tables, ...(pairTable ? [pairTable] : [])].forEach(addControls);

    /* ---- charts ---- */

    const color = (name) => getComputedStyle(document.body).getPropertyValue(name).trim();

    function config() {
        const text = color("--text");
        const words = { labelColor: text, titleColor: text };
        const lines = { gridColor: color("--line"), domainColor: text, tickColor: text };
        return {
            background: null,
            axis: { ...words, ...lines },
            legend: words,
            rect: { fill: color("--bar") },
        };
    }

    /* Draw a chart of these values, or hide its figure if there are none. */
    async function draw(id, values, signals = {}) {
        const element = byId(id);
        const figure = element.closest("figure");
        if (figure) figure.hidden = values.length === 0;
        if (views[id]) views[id].finalize();
        delete views[id];
        if (values.length === 0) return;
        const spec = structuredClone(page.charts[id]);
        spec.data[0].values = values;
        const set = {
            outline: color("--text"),
            ground: color("--page"),
            colors: dark.matches ? ["#56b4e9", "#e69f00", "#3ec9a0", "#e29ac4"] : undefined,
            ...signals,
        };
        for (const signal of spec.signals) {
            if (set[signal.name] !== undefined) signal.value = set[signal.name];
        }
        const result = await vegaEmbed(element, spec, {
            mode: "vega",
            ast: true, /* no code is made from text: the page's policy forbids it */
            actions: false,
            renderer: values.length > 500 ? "canvas" : "svg",
            config: config(),
            tooltip: { theme: dark.matches ? "dark" : "light" },
        });
        views[id] = result.view;
        if (spec.signals.some((signal) => signal.name === "picked")) {
            result.view.addSignalListener("picked", (name, row) => pick(row));
        }
    }

    function tooltip(row) {
        return {
            title: row.name,
            Dtype: row.dtype,
            Shape: row.shape,
            Bytes: row.bytes,
            Coded: `${row.coded} (${row.ratio})`,
            "Bits an element": row.bits,
            "Order-0 bound": row.bound,
            ...(row.snr ? { "SNR, dB": row.snr } : {}),
        };
    }

    /* A name in two: its path to the first number ("encoder.layer.3"), or its first part; the rest. */
    function split(name) {
        const parts = name.split(".");
        const at = parts.findIndex((part) => /^\d+$/.test(part));
        const end = at >= 0 && at < parts.length - 1 ? at + 1 : Math.min(1, parts.length - 1);
        return [parts.slice(0, end).join("."), parts.slice(end).join(".")];
    }

    function treemapNodes() {
        const by = byId("area").value;
        const groups = new Map();
        const leaves = models[shown].rows.map((row) => {
            const [group, label] = split(row.name);
            groups.set(group, { id: `g${group}`, parent: "all", label: group });
            const sizes = { coded: number(row.coded), bytes: number(row.bytes) };
            sizes.saved = Math.max(0, sizes.bytes - sizes.coded);
            return {
                id: `t${row.row}`,
                parent: `g${group}`,
                label,
                area: sizes[by],
                ratio: (number(row.ratio) ?? 0) / 100,
                row: row.row,
                tooltip: tooltip(row),
            };
        });
        return leaves.length ? [{ id: "all" }, ...groups.values(), ...leaves] : [];
    }

    /* The ratios that colours stand for: those of nine tenths of the bytes, a fifth apart at least. */
    function ratios(rows) {
        const sorted = rows.map((row) => [number(row.ratio), number(row.bytes)])
            .filter(([ratio]) => ratio !== null)
            .sort((a, b) => a[0] - b[0]);
        const total = sorted.reduce((sum, [, bytes]) => sum + bytes, 0);
        const at = (share) => {
            let sum = 0;
            const found = sorted.find(([, bytes]) => (sum += bytes) >= share * total);
            return found ? found[0] / 100 : 1;
        };
        const [low, high] = [at(0.05), at(0.95)];
        const wider = Math.max(0, 0.2 - (high - low)) / 2;
        const first = Math.max(0, Math.floor((low - wider) * 20) / 20);
        return [first, Math.max(first + 0.2, Math.ceil((high + wider) * 20) / 20)];
    }

    const drawTreemap = () =>
        draw("treemap", treemapNodes(), { ratios: ratios(models[shown].rows) });

    /* Points of two columns, of those rows that have finite numbers in both. */
    function points(rows, x, y, tip = tooltip) {
        return rows
            .map((row) => ({
                x: number(row[x] ?? "–"),
                y: number(row[y] ?? "–"),
                area: number(row.bytes),
                dtype: row.dtype,
                row: row.row,
                tooltip: tip(row),
            }))
            .filter((point) => Number.isFinite(point.x) && Number.isFinite(point.y));
    }

    /* The tensors that both models have; a click shows that of the first. */
    function comparisonPoints() {
        const first = new Map(models[0].rows.map((row) => [row.name, row]));
        const both = pairs
            .filter((pair) => first.has(pair.name))
            .map((pair) => ({ ...first.get(pair.name), ...pair, row: first.get(pair.name).row }));
        return points(both, "bits1", "bits2", (pair) => ({
            title: pair.name,
            "Bits, first": pair.bits1,
            "Bits, second": pair.bits2,
            Change: pair.change,
        }));
    }

    /* ---- the tensor that was clicked ---- */

    /* Columns for the shares of a distribution; a gap stands for exponents that do not occur. */
    function columns([kind, subnormal, special], runs) {
        const values = [];
        runs.forEach(([first, ...shares], i) => {
            if (i > 0) values.push({ x: "…".repeat(i), share: 0 });
            shares.forEach((share, j) => {
                const at = first + j;
                const x = at === subnormal ? "zero" : at === special ? "Inf, NaN" : String(at);
                const text = `${(share / 1000).toFixed(3)} %`;
                const power = kind === "exponent" && x === String(at) ? `2^${at}` : x;
                values.push({ x, share: share / 1e5, tooltip: { title: power, Share: text } });
            });
        });
        return values;
    }

    const kinds = {
        exponent: ["exponents", "Exponent: power of two"],
        magnitude: ["magnitudes", "Bits of the absolute value"],
    };

    async function pick(row, move = true) {
        const model = models[shown];
        const found = model.rows.find((candidate) => candidate.row === row);
        if (!found) return;
        picked = row;
        for (const other of model.table.querySelectorAll("[aria-selected]")) {
            other.removeAttribute("aria-selected");
        }
        found.tr.setAttribute("aria-selected", "true");
        const detail = byId("detail");
        const title = document.createElement("h3");
        title.textContent = found.name;
        const facts = document.createElement("dl");
        headings(model.table).slice(1).forEach((heading) => {
            const term = document.createElement("dt");
            const value = document.createElement("dd");
            term.textContent = heading.textContent;
            value.textContent = found[heading.dataset.key];
            if (value.textContent !== "–") facts.append(term, value);
        });
        const back = document.createElement("button");
        back.type = "button";
        back.textContent = "Show in the table";
        back.addEventListener("click", () => {
            found.tr.hidden = false;
            found.tr.focus();
            found.tr.scrollIntoView({ block: "center" });
        });
        const note = document.createElement("p");
        const chart = document.createElement("div");
        chart.className = "chart";
        chart.id = "exponents";
        const [left, right] = [document.createElement("div"), document.createElement("div")];
        left.append(facts, back);
        right.append(note, chart);
        detail.replaceChildren(title, left, right);
        const distribution = model.distributions[row];
        if (distribution) {
            const [counted, entropy, runs] = distribution;
            const symbols = page.kinds[found.dtype];
            const [plural, axis] = kinds[symbols[0]];
            const all = number(found.shape) ?? 1;
            const sample = counted < all ? ` of ${all.toLocaleString("en")}, from all over it` : "";
            note.textContent = `Distribution of ${plural}: entropy ${entropy} bits, counted in ` +
                `${counted.toLocaleString("en")} numbers${sample}.`;
            await draw("exponents", columns(symbols, runs), { label: axis });
        } else {
            note.textContent = model.counted
                ? "No distribution of exponents: the tensor is empty, of a dtype that has none, or it " +
                  "was left out to keep the page small."
                : "No distribution of exponents: the report was made with --no-exponents.";
        }
        if (move) detail.scrollIntoView({ block: "nearest" });
    }

    async function drawAll() {
        const model = models[shown];
        await drawTreemap();
        if (model.rows.length) {
            const largest = model.rows.reduce((a, b) => (number(b.bytes) > number(a.bytes) ? b : a));
            await pick(picked >= 0 ? picked : largest.row, false);
        }
        byId("detail").hidden = model.rows.length === 0;
        byId("measured").textContent = model.measured
            ? "Measured on the original." : "As the encoder recorded it.";
        await draw("bound", points(model.rows, "bound", "bits"));
        await draw("modes", model.modes.map(([mode, share]) => ({ mode, share })));
        await draw("snr", points(model.rows, "bits", "snr"));
        await draw("comparison", comparisonPoints());
        performance.mark("drawn");
        document.body.dataset.drawn = String(Number(document.body.dataset.drawn ?? 0) + 1);
    }

    /* Drawings follow one another, so that no two are in one element at once. */
    let last = Promise.resolve();
    const later = (task) => (last = last.then(task, task));

    models.forEach((model, i) => {
        for (const row of model.rows) row.tr.tabIndex = 0;
        const choose = (event) => {
            const tr = event.target.closest("tbody tr");
            if (!tr || (event.type === "keydown" && event.key !== "Enter")) return;
            if (i !== shown) {
                shown = i;
                picked = Number(tr.dataset.row);
                byId("model").value = String(i);
                later(drawAll);
            }
            later(() => pick(Number(tr.dataset.row)));
        };
        model.table.addEventListener("click", choose);
        model.table.addEventListener("keydown", choose);
    });
    const names = document.querySelectorAll("table.summary tbody th");
    names.forEach((cell, i) => byId("model").add(new Option(cell.textContent, String(i))));
    byId("model").parentElement.hidden = models.length < 2;
    byId("model").addEventListener("change", () => {
        shown = Number(byId("model").value);
        picked = -1;
        later(drawAll);
    });
    byId("area").addEventListener("change", () => later(drawTreemap));
    dark.addEventListener("change", () => later(drawAll));
    later(drawAll).finally(reveal);
})();
