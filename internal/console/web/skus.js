// The list of SKUs. Rows are created once, for one page of the list; paging and searching fill them again.

import { allSKUs } from "./api.js";
import { count, el, say } from "./dom.js";
import { askForSKU } from "./newsku.js";
import { repaint } from "./paint.js";
import { poll } from "./poll.js";
import { Bar, showState } from "./state.js";
import { watch } from "./stream.js";

const pageSize = 25;
const mostSKUs = 10_000; // read at most
const readEvery = 5000;

export function showSKUs(main, linkState) {
	const known = new Map();
	let found = [], page = 0, changed = true, complete = true;

	const search = el("input", { type: "search", id: "search", placeholder: "Search by SKU or name", autocomplete: "off" });
	const total = el("p.quiet", { role: "status" });
	const rows = Array.from({ length: pageSize }, () => new Row());
	const table = el("table.skus", {},
		el("caption.unseen", {}, "SKUs"),
		el("thead", {}, el("tr", {}, ...["SKU", "Stock", "Available", "Reserved", "Sold", "Segments", "State"]
			.map((name, i) => el(i > 1 && i < 6 ? "th.number" : "th", { scope: "col" }, name)))),
		el("tbody", {}, ...rows.map((row) => row.node)));
	const nothing = el("div.nothing", { hidden: true }, el("p", {}, ""), el("button", { type: "button", onclick: askForSKU }, "Create a SKU"));
	const back = el("button.quiet", { type: "button", onclick: () => turn(-1) }, "Previous");
	const on = el("button.quiet", { type: "button", onclick: () => turn(1) }, "Next");
	const where = el("span.quiet");
	main.replaceChildren(
		el("div.head", {}, el("div", {}, el("h1", {}, "SKUs"), total), el("button", { type: "button", onclick: askForSKU }, "New SKU")),
		el("div.search", {}, el("label.unseen", { for: "search" }, "Search"), search),
		el("div.wide", { tabindex: "0", role: "region", "aria-label": "SKUs" }, table), nothing,
		el("nav.pages", { "aria-label": "Pages of the list" }, back, where, on));
	search.addEventListener("input", () => { page = 0; select(); });

	function turn(by) {
		page += by;
		repaint(draw);
	}

	function select() {
		const wanted = search.value.trim().toLowerCase();
		found = [...known.values()].filter((sku) => !wanted || `${sku.sku} ${sku.name ?? ""}`.toLowerCase().includes(wanted));
		repaint(draw);
	}

	function draw() {
		const pages = Math.max(1, Math.ceil(found.length / pageSize));
		page = Math.min(Math.max(page, 0), pages - 1);
		rows.forEach((row, i) => row.show(found[page * pageSize + i]));
		back.disabled = page === 0;
		on.disabled = page === pages - 1;
		say(where, `${page + 1} of ${pages}`);
		where.parentNode.hidden = pages === 1;
		say(total, search.value.trim() ? `${count(found.length)} of ${count(known.size)}` : count(known.size) + (complete ? "" : " and more"));
		table.hidden = found.length === 0;
		nothing.hidden = found.length > 0;
		say(nothing.firstChild, known.size ? "Nothing matches." : "Nothing is sold here yet.");
	}

	async function read() {
		if (!changed) return;
		changed = false;
		complete = await allSKUs(mostSKUs, (skus) => { for (const sku of skus) known.set(sku.sku, sku); });
		select();
	}

	// An event is applied at once; the next read has what it left out.
	function take(kind, event) {
		changed = true;
		const sku = known.get(event.sku);
		if (!sku || !event.units) return;
		const sold = Math.min(event.units, sku.available);
		if (kind === "back_in_stock") sku.available += event.units;
		else {
			sku.available -= sold;
			sku.committed += sold;
		}
		repaint(draw);
	}

	const stopReading = poll(readEvery, read);
	const stopWatching = watch("", take, linkState);
	return () => { stopReading(); stopWatching(); };
}

class Row {
	constructor() {
		this.link = el("a");
		this.name = el("span.quiet");
		this.bar = new Bar();
		this.numbers = Array.from({ length: 4 }, () => el("td.number"));
		this.state = el("span.pill");
		this.node = el("tr", {}, el("th", { scope: "row" }, this.link, this.name), el("td.bar-cell", {}, this.bar.node),
			...this.numbers, el("td", {}, this.state));
	}

	show(sku) {
		this.node.hidden = !sku;
		if (!sku) return;
		say(this.link, sku.sku);
		this.link.href = `#/sku/${encodeURIComponent(sku.sku)}`;
		say(this.name, sku.name ?? "");
		this.bar.show(sku);
		[sku.available, sku.reserved, sku.committed, sku.segments].forEach((n, i) => say(this.numbers[i], count(n)));
		showState(this.state, sku);
	}
}
