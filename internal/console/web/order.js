// One order that was sent: what it holds now, what happened to it, and what can be done with it. The lines of an order of several
// SKUs are committed, cancelled, extended and changed together; each may be returned alone.

import { call, orderPath, wholePath } from "./api.js";
import { clock, el, field, say, tell, units } from "./dom.js";
import { form, linesOf, newID } from "./form.js";
import { history } from "./history.js";

// entry returns the order's element, and show, which takes the order as it is now. own is the buyer who chose the order's id, if a
// buyer did. The history is open from the beginning if past is true.
export function entry(sent, changed, { own = "", past = false } = {}) {
	const id = sent.order_id, whole = sent.lines !== undefined;
	const query = own && `?buyer_id=${encodeURIComponent(own)}`;
	const path = (rest = "") => (whole ? wholePath(id, rest) : orderPath(sent.sku, id, rest)) + query;
	const lines = (order) => (whole ? order.lines : [order]);

	// After a refusal too, the order may be another one than is shown.
	async function send(to, body) {
		try {
			await call("POST", to, body);
			return "Done.";
		} finally {
			show(await call("GET", path()));
			told.read();
			changed();
		}
	}
	const button = (name, label, to, body) => el("button.quiet", {
		type: "button", "aria-label": label,
		onclick: () => send(to, body).catch((problem) => tell(problem.message, true)),
	}, name);
	const act = (name, verb, body) => button(name, `${name} ${id}`, path(`/${verb}`), body);
	// Each change has a ref: sent twice, it happens once.
	const amend = (name, verb, fields) => form(`${name} ${id}`, fields, name, (body) => send(path(`/${verb}`), { ref: newID(verb), ...body }));

	const commit = act("Commit", "commit"), cancel = act("Cancel", "cancel"), retake = act("Commit late", "commit", { if_ended: "retake" });
	const extend = amend("Extend", "extend", [field("Reserve for", "reserve_for", { value: "15m" }, "from now on; it never ends earlier")]);
	const giveUp = amend("Give up some", "cancel", [field("Units", "quantity", { inputmode: "numeric", value: "1" })]);
	const giveBack = form(`Return ${id}`, [
		whole ? null : field("Units", "quantity", { inputmode: "numeric", placeholder: "all" }),
		field("Then", "restock", { options: [["true", "sell them again"], ["false", "write them off"]] }),
		field("Reason", "reason", { maxlength: 500 }),
	].filter(Boolean), "Return", (body) => send(path("/return"), body.quantity ? { ref: newID("return"), ...body } : body));
	const revise = form(`Change the lines of ${id}`, [
		field("Lines", "lines", { required: true }, "as they shall be, such as laces-7 2, bulb-7"),
		field("Buyer", "buyer_id", { placeholder: "the same" }, "who gets the order"),
	], "Change", ({ lines: text, ...body }) => send(path("/change"), { ref: newID("change"), lines: linesOf(text), ...body }));
	const more = el("details", {}, el("summary", { "aria-label": `Change ${id}` }, "Change"), el("div.pair", {}, extend, giveUp, giveBack, revise));
	const shown = new Map(), held = el("div", {}, el("code", {}, id));
	const lineOf = (sku) => {
		const text = el("span"), back = whole ? button("Return", `Return ${sku} of ${id}`, orderPath(sku, id, "/return") + query) : null;
		const node = el("div.line", {}, text, back);
		held.append(node);
		return { text, back, node };
	};
	const told = history(id, path("/history"), past);
	const node = el("li", {}, held, el("div.actions", {}, commit, retake, cancel), more, told.node);

	function show(order) {
		const now = new Map(lines(order).map((line) => [line.sku ?? sent.sku, line]));
		const some = (status) => lines(order).some((line) => line.status === status);
		for (const sku of now.keys()) if (!shown.has(sku)) shown.set(sku, lineOf(sku));
		for (const [sku, { text, back, node }] of shown) {
			node.hidden = !now.has(sku); // a change has removed it
			const { quantity, status, expires_at: ends } = now.get(sku) ?? { quantity: 0 };
			const until = status === "reserved" ? ` until ${clock(ends)}` : "";
			say(text, `${whole ? `${sku}: ` : ""}${units(quantity)}, ${status}${until}`);
			if (back) back.hidden = status !== "committed";
		}
		revise.hidden = !whole;
		if (whole) revise.elements.lines.placeholder = order.lines.map(({ sku, quantity }) => `${sku} ${quantity}`).join(", ");
		commit.hidden = cancel.hidden = extend.hidden = !some("reserved");
		retake.hidden = some("reserved") || !some("expired");
		giveUp.hidden = whole || !some("reserved");
		giveBack.hidden = !some("committed");
		more.hidden = !some("reserved") && !some("committed");
	}
	show(sent);
	return { node, show };
}
