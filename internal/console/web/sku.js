// One SKU: its stock, what happens to it now, and what can be done with it.

import { skuPath } from "./api.js";
import { audit } from "./audit.js";
import { changes } from "./changes.js";
import { count, el, say, when } from "./dom.js";
import { Figures } from "./figures.js";
import { Ledger } from "./ledger.js";
import { orders } from "./orders.js";
import { repaint } from "./paint.js";
import { poll } from "./poll.js";
import { Bar, showState } from "./state.js";
import { watch } from "./stream.js";
import { Timeline } from "./timeline.js";
import { Vessels } from "./vessels.js";

// How often it reads: four times a second in all.
const statusEvery = 500, quietEvery = 5000, lockEvery = 1000;
const locksAtOnce = 64;

export function showSKU(main, name, health) {
	const vessels = new Vessels(), figures = new Figures(health), timeline = new Timeline(), ledger = new Ledger(name, health);
	const title = el("h1", {}, name), label = el("p.quiet"), state = el("span.pill"), available = el("strong"), of = el("span.quiet", {}, "Not read yet");
	const bar = new Bar(), terms = el("dl.terms");
	let sku = null, changed = true, read = 0, segment = 0;

	const section = (heading, ...content) => el("section", {}, el("h2", {}, heading), ...content);
	// The page does not offer changes that an archived SKU would refuse.
	const open = el("div.columns", {},
		section("Try an order", ...orders(name, refreshAll)),
		section("Change the stock", ...changes(name, refreshAll)));
	main.replaceChildren(
		el("p.back", {}, el("a", { href: "#/" }, "All SKUs")),
		el("div.head", {}, el("div", {}, title, label), state),
		el("div.total", {}, el("p", {}, available, of), bar.node),
		figures.node,
		section("Segments", vessels.node),
		section("In stock and sold out", timeline.node),
		open,
		el("div.columns", {}, section("Terms", terms), section("Audit", ...audit(name))),
		section("Ledger", ledger.node));

	// A return may write units off, which the ledger has too.
	function refreshAll() {
		changed = true;
		ledger.read();
	}

	async function readStatus() {
		if (!changed && Date.now() - read < quietEvery) return;
		changed = false;
		sku = await health.read(skuPath(name));
		read = Date.now();
		if (ledger.failed) ledger.read();
		timeline.note(sku.available === 0, Date.now());
		vessels.set(sku.segments.map((part) => part.available), sku.layout);
		repaint(draw);
	}

	function draw() {
		say(label, sku.name ?? "");
		showState(state, sku);
		say(available, count(sku.available));
		say(of, ` of ${count(sku.stock)} available, ${count(sku.reserved)} reserved, ${count(sku.committed)} sold`);
		bar.show(sku);
		showTerms(terms, sku);
		open.hidden = sku.archived_at !== undefined;
	}

	// The locks of very many segments are read part by part.
	async function readLocks() {
		const page = await health.readLocks(name, segment, locksAtOnce);
		vessels.hold(segment, locksAtOnce, page.use === "working" ? page.locks : null);
		figures.locksAre(page.use);
		segment += locksAtOnce;
		if (!sku || segment >= sku.segments.length) segment = 0;
	}

	function take(kind, event) {
		changed = true;
		figures.take(kind, event);
		if (kind === "merge") vessels.merged();
		if (kind === "sold_out") timeline.note(true, new Date(event.at).getTime());
		if (kind === "back_in_stock") {
			timeline.note(false, new Date(event.at).getTime(), event.units ? `Back in stock: ${count(event.units)} units` : undefined);
		}
	}

	function linked(how, seconds) {
		health.linked(how, seconds);
		if (how !== "unknown") return;
		for (const stop of stops) stop();
		main.replaceChildren(
			el("p.back", {}, el("a", { href: "#/" }, "All SKUs")), title,
			el("p.quiet", {}, "There is no SKU of this name."));
	}

	const stops = [
		watch(name, take, linked), poll(statusEvery, readStatus), poll(lockEvery, readLocks), figures.start(() => timeline.tick()),
	];
	ledger.read();
	return () => { for (const stop of stops) stop(); };
}

function showTerms(node, sku) {
	const all = [
		["Sale starts", sku.sale_starts_at ? when(sku.sale_starts_at) : "at once"],
		["Sale ends", sku.sale_ends_at ? when(sku.sale_ends_at) : "never"],
		["Units of one buyer", sku.per_buyer_limit ? count(sku.per_buyer_limit) : "any number"],
		["Limit group", sku.limit_group ?? "none"],
		["Units of one order", sku.max_quantity ? count(sku.max_quantity) : "any number"],
		["Longest reservation", sku.max_reserve_for ?? "as the service says"],
		["Layout", count(sku.layout)],
		...(sku.archived_at ? [["Archived", when(sku.archived_at)]] : []),
	];
	const key = JSON.stringify(all);
	if (node.dataset.shown === key) return;
	node.dataset.shown = key;
	node.replaceChildren(...all.map(([term, value]) => el("div", {}, el("dt", {}, term), el("dd", {}, value))));
}
