// The words for a SKU that is open, sold out, closed or archived, and its stock as a bar.

import { be, clock, count, el, say } from "./dom.js";

const day = 86_400_000;

export function stateOf(sku, now = Date.now()) {
	if (sku.archived_at) return ["closed", "Archived"];
	const opens = new Date(sku.sale_starts_at ?? 0);
	if (opens > now) return ["waits", opens - now < day ? `Opens at ${clock(opens)}` : `Opens ${opens.toLocaleDateString("en-GB")}`];
	if (sku.sale_ends_at && new Date(sku.sale_ends_at) <= now) return ["closed", "Ended"];
	if (sku.available > 0) return ["open", "On sale"];
	return sku.reserved > 0 ? ["out", "All reserved"] : ["out", "Sold out"];
}

export function showState(node, sku) {
	const [kind, text] = stateOf(sku);
	be(node, "data-state", kind);
	say(node, text);
}

// Bar shows the available, reserved and sold units as parts of all units.
export class Bar {
	constructor() {
		this.available = el("i.available");
		this.reserved = el("i.reserved");
		this.node = el("div.stock", { role: "img", "aria-label": "Stock that is not read yet" }, this.available, this.reserved);
	}

	show(sku) {
		const share = (units) => `${sku.stock > 0 ? (100 * Math.max(0, units)) / sku.stock : 0}%`;
		this.available.style.width = share(sku.available);
		this.reserved.style.width = share(sku.reserved);
		be(this.node, "aria-label", `${count(sku.available)} available, ${count(sku.reserved)} reserved, ${count(sku.committed)} sold`);
	}
}
