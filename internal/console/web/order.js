// One order that was sent: what it holds now, what happened to it, and what can be done with it. The lines of an order of several
// SKUs are committed, cancelled and extended together; each may be returned alone.

import { call, orderPath, wholePath } from "./api.js";
import { clock, el, field, say, tell, units } from "./dom.js";
import { form, newID } from "./form.js";
import { history } from "./history.js";

export function entry(sent, changed) {
	const id = sent.order_id, whole = sent.lines !== undefined;
	const path = (rest = "") => (whole ? wholePath(id, rest) : orderPath(sent.sku, id, rest));
	const lines = (order) => (whole ? order.lines : [order]);

	// After a refusal too, the order may be another one than is shown.
	async function send(to, body) {
		try {
			await call("POST", to, body);
			return "Done.";
		} finally {
			show(await call("GET", path()));
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

	const commit = act("Commit", "commit"), cancel = act("Cancel", "cancel"), retake = act("Commit late", "commit", { if_expired: "retake" });
	const extend = amend("Extend", "extend", [field("Reserve for", "reserve_for", { value: "15m" }, "from now on; it never ends earlier")]);
	const giveUp = amend("Give up some", "cancel", [field("Units", "quantity", { inputmode: "numeric", value: "1" })]);
	const giveBack = form(`Return ${id}`, [
		whole ? null : field("Units", "quantity", { inputmode: "numeric", placeholder: "all" }),
		field("Then", "restock", { options: [["true", "sell them again"], ["false", "write them off"]] }),
		field("Reason", "reason", { maxlength: 500 }),
	].filter(Boolean), "Return", (body) => send(path("/return"), body.quantity ? { ref: newID("return"), ...body } : body));
	const more = el("details", {}, el("summary", { "aria-label": `Change ${id}` }, "Change"), el("div.pair", {}, extend, giveUp, giveBack));
	const shown = lines(sent).map(({ sku }) => {
		const text = el("span"), back = whole ? button("Return", `Return ${sku} of ${id}`, orderPath(sku, id, "/return")) : null;
		return { sku, text, back, node: el("div.line", {}, text, back) };
	});
	const node = el("li", {}, el("div", {}, el("code", {}, id), ...shown.map((line) => line.node)),
		el("div.actions", {}, commit, retake, cancel), more, history(id, shown.map(({ sku }) => sku)));

	function show(order) {
		const now = new Map(lines(order).map((line) => [line.sku ?? sent.sku, line]));
		const some = (status) => lines(order).some((line) => line.status === status);
		for (const { sku, text, back } of shown) {
			const { quantity, status, expires_at: ends } = now.get(sku);
			const until = status === "reserved" ? ` until ${clock(ends)}` : "";
			say(text, `${whole ? `${sku}: ` : ""}${units(quantity)}, ${status}${until}`);
			if (back) back.hidden = status !== "committed";
		}
		commit.hidden = cancel.hidden = extend.hidden = !some("reserved");
		retake.hidden = some("reserved") || !some("expired");
		giveUp.hidden = whole || !some("reserved");
		giveBack.hidden = !some("committed");
		more.hidden = !some("reserved") && !some("committed");
	}
	show(sent);
	return node;
}
