// The ledger: every change of the stock that is neither an order nor a return to it, the newest first.

import { skuPath } from "./api.js";
import { count, el, say, when } from "./dom.js";

const shown = 50; // in a page

// nameOf tells a movement from all others of its SKU: a write-off has the id of its order, and a ref if it is one of a part.
const nameOf = ({ order_id: order, ref }) => [order, ref].filter(Boolean).join(" ");

export class Ledger {
	constructor(sku, health) {
		this.sku = sku;
		this.health = health;
		this.failed = false; // the last read, for a reason that may pass
		this.names = new Set(); // of the movements that are there
		this.older = undefined; // where the older ones begin; undefined: there are none
		this.note = el("p.quiet");
		this.more = el("button.quiet", { type: "button", hidden: true, onclick: () => this.#read(this.#olderPage()) }, "Older");
		this.body = el("tbody");
		this.table = el("table", { hidden: true }, el("caption.unseen", {}, "Ledger"),
			el("thead", {}, el("tr", {}, ...["When", "What", "Units", "Segments", "Reason", "Ref"].map((name) => el("th", { scope: "col" }, name)))),
			this.body);
		this.node = el("div", {}, this.note, el("div.wide", { tabindex: "0", role: "region", "aria-label": "Ledger" }, this.table), this.more);
	}

	// read adds what is new. Lines that are there stay.
	read() {
		return this.#read(this.#newest());
	}

	async #read(pages) {
		try {
			await pages;
			this.failed = false;
			const n = this.names.size;
			say(this.note, n ? (this.older ? `The newest ${count(n)}.` : "") : "Nothing but orders has changed the stock.");
		} catch (problem) {
			this.failed = problem.status < 400 || problem.status >= 500; // a refusal would come again
			say(this.note, problem.message);
		}
		this.table.hidden = this.names.size === 0;
		this.more.hidden = !this.older;
	}

	// newest reads from the newest movement on, until it meets one that is there.
	async #newest() {
		const first = this.names.size === 0, before = this.body.firstChild;
		for (let after = ""; after !== undefined;) {
			const page = await this.#page(after);
			const fresh = page.movements.filter((movement) => !this.names.has(nameOf(movement)));
			for (const movement of fresh) this.body.insertBefore(this.#line(movement), before);
			if (first) this.older = page.next;
			after = first || fresh.length < page.movements.length ? undefined : page.next;
		}
	}

	async #olderPage() {
		const page = await this.#page(this.older);
		for (const movement of page.movements) if (!this.names.has(nameOf(movement))) this.body.append(this.#line(movement));
		this.older = page.next;
	}

	#page(after) {
		return this.health.read(skuPath(this.sku, `/movements?order=newest&limit=${shown}${after && `&after=${after}`}`));
	}

	#line(movement) {
		this.names.add(nameOf(movement));
		const cells = [
			when(movement.at), movement.kind.replace("_", " "),
			movement.quantity ? (movement.quantity > 0 ? "+" : "−") + count(Math.abs(movement.quantity)) : "",
			movement.segments ? count(movement.segments) : "", movement.reason ?? "", nameOf(movement),
		];
		return el("tr", {}, ...cells.map((text) => el("td", {}, text)));
	}
}
