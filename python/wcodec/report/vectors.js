/* SPDX-FileCopyrightText: 2026 The wcodec authors
 * SPDX-License-Identifier: BSD-2-Clause */

/* The charts of a page of vectors, drawn by Vega. */
(() => {
    "use strict";
    const page = JSON.parse(document.getElementById("data").textContent);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const views = {};
    const color = (name) => getComputedStyle(document.body).getPropertyValue(name).trim();

    /* Whatever goes wrong with the charts, the tables are shown. */
    const reveal = () => document.querySelectorAll(".long").forEach((e) => e.classList.add("ready"));
    addEventListener("error", reveal);

    async function draw(id) {
        const element = document.getElementById(id);
        const values = page.values[id];
        element.closest("figure").hidden = values.length === 0;
        if (views[id]) views[id].finalize();
        delete views[id];
        if (values.length === 0) return;
        const text = color("--text");
        const words = { labelColor: text, titleColor: text };
        const spec = structuredClone(page.charts[id]);
        spec.data[0].values = values;
        for (const signal of spec.signals) {
            if (signal.name === "bar") signal.value = color("--bar");
        }
        const result = await vegaEmbed(element, spec, {
            mode: "vega",
            ast: true, /* no code is made from text: the page's policy forbids it */
            actions: false,
            renderer: "svg",
            config: {
                background: null,
                axis: { ...words, gridColor: color("--line"), domainColor: text, tickColor: text },
            },
            tooltip: { theme: dark.matches ? "dark" : "light" },
        });
        views[id] = result.view;
    }

    async function drawAll() {
        for (const id of Object.keys(page.charts)) await draw(id);
        document.body.dataset.drawn = "";
    }

    dark.addEventListener("change", drawAll);
    drawAll().finally(reveal);
})();
