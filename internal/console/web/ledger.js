// The ledger: every change of the stock that is neither an order nor a return to it, the newest first.

import { call, skuPath } from "./api.js";
import { clock, count, el, say } from "./dom.js";

const shown = 50;
const most = 5000; // that are read

// nameOf tells a movement from all others of its SKU: a write-off has the id of its order, and a ref if it is one of a part.
const nameOf = ({ order_id: order, ref }) => [order, ref].filter(Boolean).join(" ");

export class Ledger {
	constructor(sku) {
		this.sku = sku;
		this.after = "";
		this.total = 0;
		this.tail = new Set(); // names of movements that were read after this.after
		this.note = el("p.quiet");
		this.body = el("tbody");
		this.table = el("table", { hidden: true }, el("caption.unseen", {}, "Ledger"),
			el("thead", {}, el("tr", {}, ...["When", "What", "Units", "Segments", "Reason", "Ref"].map((name) => el("th", { scope: "col" }, name)))),
			this.body);
		this.node = el("div", {}, this.note, el("div.wide", { tabindex: "0", role: "region", "aria-label": "Ledger" }, this.table));
	}

	// read goes on where it ended: lines that are there stay.
	async read() {
		try {
			for (let more = true; more && this.total < most;) {
				const query = this.after ? `&after=${this.after}` : "";
				const page = await call("GET", skuPath(this.sku, `/movements?limit=200${query}`));
				for (const movement of page.movements.filter((movement) => !this.tail.has(nameOf(movement)))) this.#add(movement);
				more = page.next !== undefined;
				if (!more) break;
				this.after = page.next;
				this.tail.clear();
			}
			say(this.note, this.total ? (this.total > shown ? `The newest ${shown} of ${count(this.total)}.` : "") : "Nothing but orders has changed the stock.");
		} catch (problem) {
			say(this.note, problem.message);
		}
		this.table.hidden = this.total === 0;
	}

	#add(movement) {
		const cells = [
			`${new Date(movement.at).toLocaleDateString("en-GB")} ${clock(movement.at)}`, movement.kind.replace("_", " "),
			movement.quantity ? (movement.quantity > 0 ? "+" : "−") + count(Math.abs(movement.quantity)) : "",
			movement.segments ? count(movement.segments) : "", movement.reason ?? "", nameOf(movement),
		];
		this.body.prepend(el("tr", {}, ...cells.map((text) => el("td", {}, text))));
		if (this.body.children.length > shown) this.body.lastChild.remove();
		this.tail.add(nameOf(movement));
		this.total++;
	}
}
