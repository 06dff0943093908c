// A form that takes or reserves, of one SKU or of several, and the orders that it sent.

import { call, skuPath } from "./api.js";
import { el, field } from "./dom.js";
import { form, linesOf, newID } from "./form.js";
import { entry } from "./order.js";

const kept = 5; // orders that are shown

export function orders(sku, changed) {
	const list = el("ul.orders");
	const node = form("Try an order", [
		el("div.pair", {},
			field("Units", "quantity", { inputmode: "numeric", value: "1" }),
			field("Reserve for", "reserve_for", { placeholder: "take it at once" }, "such as 30s or 15m")),
		el("div.pair", {},
			field("Buyer", "buyer_id", { placeholder: "nobody in particular" }),
			field("Order id", "order_id", { placeholder: "a new one" }, "the same id takes effect once")),
		field("Together with", "others", { placeholder: "nothing else" }, "other SKUs and their units, such as laces-7 2, bulb-7 1: all or nothing"),
	], "Send the order", async ({ others, quantity, ...body }) => {
		const order = { order_id: newID("console"), ...body };
		const sent = others
			? await call("POST", "v1/orders", { ...order, lines: [{ sku, quantity }, ...linesOf(others)] })
			: await call("POST", skuPath(sku, "/deductions"), { ...order, quantity });
		changed();
		list.prepend(entry(sent, changed).node);
		while (list.children.length > kept) list.lastChild.remove();
		return `${sent.order_id} is ${(sent.lines?.[0] ?? sent).status}.`;
	});
	return [node, list];
}
