// What happened to an order, read again each time that it is opened, and after each change while it is.

import { call } from "./api.js";
import { el, say, units, when } from "./dom.js";

export function history(order, path, open) {
	const list = el("ol.history"), told = el("p.told.bad", { role: "status" });
	const node = el("details", { open, ontoggle: read }, el("summary", { "aria-label": `History of ${order}` }, "History"), list, told);

	async function read() {
		if (!node.open) return;
		try {
			const past = await call("GET", path), lines = past.lines ?? [past];
			const all = lines.flatMap(({ sku, history }) => history.map((entry) => ({ sku, ...entry })));
			all.sort((a, b) => new Date(a.at) - new Date(b.at));
			list.replaceChildren(...all.map((entry) => line(entry, lines.length > 1)));
			say(told, "");
		} catch (problem) {
			say(told, problem.message);
		}
	}
	return { node, read };
}

function line(entry, several) {
	const words = [
		several ? `${entry.sku}:` : "", entry.quantity ? units(entry.quantity) : "", entry.kind.replace("_", " "),
		entry.expires_at ? `until ${when(entry.expires_at)}` : "", entry.reason ? `(${entry.reason})` : "",
	];
	return el("li", {}, el("time", { datetime: entry.at }, when(entry.at)), " ", words.filter(Boolean).join(" "), entry.ref ? el("code", {}, ` ${entry.ref}`) : null);
}
