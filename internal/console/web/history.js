// What happened to an order, read again each time that it is opened.

import { call, orderPath } from "./api.js";
import { clock, el, say, units } from "./dom.js";

export function history(order, skus) {
	const list = el("ol.history"), told = el("p.told.bad", { role: "status" });
	const node = el("details", {
		ontoggle: async () => {
			if (!node.open) return;
			try {
				const pages = await Promise.all(skus.map((sku) => call("GET", orderPath(sku, order, "/history"))));
				const all = pages.flatMap(({ sku, history }) => history.map((entry) => ({ sku, ...entry })));
				all.sort((a, b) => new Date(a.at) - new Date(b.at));
				list.replaceChildren(...all.map((entry) => line(entry, skus.length > 1)));
				say(told, "");
			} catch (problem) {
				say(told, problem.message);
			}
		},
	}, el("summary", { "aria-label": `History of ${order}` }, "History"), list, told);
	return node;
}

function line(entry, several) {
	const words = [
		several ? `${entry.sku}:` : "", entry.quantity ? units(entry.quantity) : "", entry.kind.replace("_", " "),
		entry.expires_at ? `until ${clock(entry.expires_at)}` : "", entry.reason ? `(${entry.reason})` : "",
	];
	return el("li", {}, el("time", { datetime: entry.at }, clock(entry.at)), " ", words.filter(Boolean).join(" "), entry.ref ? el("code", {}, ` ${entry.ref}`) : null);
}
