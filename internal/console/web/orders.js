// A form that takes or reserves, and the orders that it sent, with their outcomes and what can be done with them.

import { call, orderPath, skuPath } from "./api.js";
import { clock, count, el, field, say, tell } from "./dom.js";
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
	// Each change has a ref: sent twice, it happens once.
	const amend = (name, verb, fields) => form(`${name} ${order.order_id}`, fields, name, async (body) => {
		show(await call("POST", orderPath(sku, order.order_id, `/${verb}`), { ref: newID(verb), ...body }));
		changed();
		return "Done.";
	});
	const commit = act("Commit"), cancel = act("Cancel");
	const extend = amend("Extend", "extend", [field("Reserve for", "reserve_for", { value: "15m" }, "from now on; it never ends earlier")]);
	const giveBack = amend("Return some", "cancel", [field("Units", "quantity", { inputmode: "numeric", value: "1" })]);
	const more = el("details", {}, el("summary", { "aria-label": `Change ${order.order_id}` }, "Change"), el("div.pair", {}, extend, giveBack));
	const node = el("li", {}, el("div", {}, el("code", {}, order.order_id), status), el("div.actions", {}, commit, cancel), more);
	function show(now) {
		const until = now.status === "reserved" ? ` until ${clock(now.expires_at)}` : "";
		say(status, `${count(now.quantity)} ${now.quantity === 1 ? "unit" : "units"}, ${now.status}${until}`);
		commit.hidden = extend.hidden = now.status !== "reserved";
		cancel.hidden = more.hidden = now.status !== "reserved" && now.status !== "committed";
	}
	show(order);
	return node;
}
