// One order: its lines, what happened to it, and what can be done with it.

import { orderPath, wholePath } from "./api.js";
import { el, say } from "./dom.js";
import { entry } from "./order.js";
import { poll } from "./poll.js";

const readEvery = 5000;

// showOrder shows an order of several SKUs, or of one if sku is set. own is the buyer who chose the order's id, if a buyer did.
export function showOrder(main, health, id, sku, own) {
	const list = el("ul.orders"), note = el("p.quiet", { role: "status" }), buyer = el("p.quiet");
	const path = (sku ? orderPath(sku, id) : wholePath(id)) + (own && `?buyer_id=${encodeURIComponent(own)}`);
	let shown = null;
	main.replaceChildren(
		el("p.back", {}, el("a", { href: "#/orders" }, "Orders")),
		el("div.head", {}, el("div", {}, el("h1", {}, id), buyer)), note, list);

	async function read() {
		try {
			show(await health.read(path));
		} catch (problem) {
			if (!shown && problem.status >= 400 && problem.status < 500) say(note, problem.message);
			throw problem;
		}
	}

	function show(order) {
		say(note, "");
		say(buyer, order.buyer_id ? `Buyer: ${order.buyer_id}` : "It names no buyer.");
		if (shown) return shown.show(order);
		shown = entry(order, () => {}, { own, past: true });
		list.replaceChildren(shown.node);
	}
	return poll(readEvery, read);
}
