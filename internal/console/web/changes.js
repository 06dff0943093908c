// Restock, adjust, resegment, change terms and archive. Each change has a ref: sent twice, it happens once.

import { call, skuPath } from "./api.js";
import { el, field } from "./dom.js";
import { form, newID } from "./form.js";
import { archive, changeTerms } from "./terms.js";

export function changes(sku, changed) {
	const change = (name, verb, fields, open) => el("details", { open }, el("summary", {}, name),
		form(name, [...fields, field("Reason", "reason", { maxlength: 500 })], name, async (body) => {
			await call("POST", skuPath(sku, `/${verb}`), { ref: newID(verb), ...body });
			changed();
			return "Done.";
		}));
	return [
		change("Restock", "restock", [field("Units", "quantity", { inputmode: "numeric", value: "100" })], true),
		change("Adjust", "adjust", [field("Units", "quantity", { value: "-1" }, "below zero takes away what was miscounted")]),
		change("Resegment", "resegment", [field("Segments", "segments", { inputmode: "numeric", value: "10" }, "also during a sale")]),
		el("details", {}, el("summary", {}, "Change the terms"), changeTerms(sku, changed)),
		el("details", {}, el("summary", {}, "Archive"), archive(sku, changed)),
	];
}
