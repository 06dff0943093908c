// The list of SKUs, in pages of the service, which also searches. Rows are created once, and filled again for each page.

import { count, el, say } from "./dom.js";
import { askForSKU } from "./newsku.js";
import { Pages } from "./pages.js";
import { repaint } from "./paint.js";
import { poll } from "./poll.js";
import { Bar, showState } from "./state.js";
import { watch } from "./stream.js";

const pageSize = 25;
const readEvery = 5000, searchEvery = 30_000; // a search looks at more than it finds
const restAfterTyping = 250;

export function showSKUs(main, health) {
	let found = [], wanted = "", changed = false, read = 0, typed = 0;

	const search = el("input", { type: "search", id: "search", placeholder: "Search by SKU or name", maxlength: 200, autocomplete: "off" });
	const note = el("p.quiet", { role: "status" });
	const rows = Array.from({ length: pageSize }, () => new Row());
	const table = el("table.skus", { hidden: true },
		el("caption.unseen", {}, "SKUs"),
		el("thead", {}, el("tr", {}, ...["SKU", "Stock", "Available", "Reserved", "Sold", "Segments", "State"]
			.map((name, i) => el(i > 1 && i < 6 ? "th.number" : "th", { scope: "col" }, name)))),
		el("tbody", {}, ...rows.map((row) => row.node)));
	const nothing = el("div.nothing", { hidden: true }, el("p", {}, ""), el("button", { type: "button", onclick: askForSKU }, "Create a SKU"));
	const pages = new Pages(readPage, show, note);
	main.replaceChildren(
		el("div.head", {}, el("div", {}, el("h1", {}, "SKUs"), note), el("button", { type: "button", onclick: askForSKU }, "New SKU")),
		el("div.search", {}, el("label.unseen", { for: "search" }, "Search"), search),
		el("div.wide", { tabindex: "0", role: "region", "aria-label": "SKUs" }, table), nothing, pages.node);
	search.addEventListener("input", () => {
		clearTimeout(typed);
		typed = setTimeout(find, restAfterTyping);
	});

	function find() {
		if (search.value.trim() === wanted) return;
		wanted = search.value.trim();
		pages.start();
	}

	function readPage(after) {
		const query = new URLSearchParams({ limit: pageSize, ...(wanted && { q: wanted }), ...(after && { after }) });
		return health.read(`v1/skus?${query}`);
	}

	// show takes a page, and returns how many SKUs it has.
	function show({ skus, next, stopped_at: stoppedAt }, first) {
		found = skus;
		read = Date.now();
		const none = wanted ? "Nothing matches." : first === 1 ? "Nothing is sold here yet." : "There are no more.";
		say(nothing.firstChild, stoppedAt ? "Nothing is found so far." : none);
		say(note, stoppedAt ? `The search has looked as far as ${stoppedAt}. Next looks further.` : next ? "" : `${count(first + skus.length - 1)} in all`);
		repaint(draw);
		return skus.length;
	}

	function draw() {
		rows.forEach((row, i) => row.show(found[i]));
		table.hidden = found.length === 0;
		nothing.hidden = found.length > 0;
		nothing.lastChild.hidden = wanted !== ""; // there may be one already
	}

	// An event is applied at once; the next read has what it left out.
	function take(kind, event) {
		const sku = found.find((one) => one.sku === event.sku);
		if (!sku) return;
		changed = true;
		if (!event.units) return;
		const sold = Math.min(event.units, sku.available);
		if (kind === "back_in_stock") sku.available += event.units;
		else {
			sku.available -= sold;
			sku.committed += sold;
		}
		repaint(draw);
	}

	async function readAgain() {
		if (!changed && wanted && Date.now() - read < searchEvery) return;
		changed = false;
		await pages.again();
	}

	const stops = [
		poll(readEvery, readAgain),
		poll(readEvery, async () => { if (found.length) await health.readLocks(found[0].sku, 0, 1); }),
		watch("", take, (...state) => health.linked(...state)),
	];
	return () => { for (const stop of stops) stop(); };
}

class Row {
	constructor() {
		this.link = el("a");
		this.name = el("span.quiet");
		this.bar = new Bar();
		this.numbers = Array.from({ length: 4 }, () => el("td.number"));
		this.state = el("span.pill");
		this.node = el("tr", { hidden: true }, el("th", { scope: "row" }, this.link, this.name), el("td.bar-cell", {}, this.bar.node),
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
