// The audit at a button: the balance, recomputed from the rows.

import { call, skuPath } from "./api.js";
import { count, el, say } from "./dom.js";

export function audit(sku) {
	const verdict = el("p.verdict", { role: "status" }), sums = el("dl.terms");
	const button = el("button.verdict-button", {
		type: "button",
		onclick: async () => {
			button.disabled = true;
			try {
				const { ok, skus, violations } = await call("GET", skuPath(sku, "/audit"));
				verdict.className = ok ? "verdict good" : "verdict bad";
				say(verdict, ok ? "Every unit adds up." : ["The sum is wrong.", ...(violations ?? [])].join(" "));
				sums.replaceChildren(...["initial", "restocked", "adjusted", "written_off", "available", "reserved", "committed", "difference"]
					.map((name) => el("div", {}, el("dt", {}, name.replace("_", " ")), el("dd", {}, count(skus[0][name])))));
			} catch (problem) {
				verdict.className = "verdict bad";
				say(verdict, problem.message);
			}
			button.disabled = false;
		},
	}, "Audit now");
	return [el("p.quiet", {}, "Initial, restocked and adjusted units, less those written off, must be what is available, reserved and sold."), button, verdict, sums];
}
