// A form that takes or reserves, and what became of the orders that it sent.

import { call, orderPath, skuPath } from "./api.js";
import { count, el, field, say, tell } from "./dom.js";
import { form, newID } from "./form.js";

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
	], "Send the order", async (body) => {
		const order = await call("POST", skuPath(sku, "/deductions"), { order_id: newID("console"), ...body });
		changed();
		list.prepend(entry(sku, order, changed));
		while (list.children.length > kept) list.lastChild.remove();
		return `${order.order_id} is ${order.status}.`;
	});
	return [node, list];
}

function entry(sku, order, changed) {
	const status = el("span");
	const act = (name) => el("button.quiet", {
		type: "button", "aria-label": `${name} ${order.order_id}`,
		onclick: async () => {
			try {
				show(await call("POST", orderPath(sku, order.order_id, `/${name.toLowerCase()}`)));
				changed();
			} catch (problem) {
				tell(problem.message, true);
			}
		},
	}, name);
	const commit = act("Commit"), cancel = act("Cancel");
	const node = el("li", {}, el("div", {}, el("code", {}, order.order_id), status), el("div.actions", {}, commit, cancel));
	function show(now) {
		say(status, `${count(now.quantity)} ${now.quantity === 1 ? "unit" : "units"}, ${now.status}`);
		commit.hidden = now.status !== "reserved";
		cancel.hidden = now.status !== "reserved" && now.status !== "committed";
	}
	show(order);
	return node;
}
