// The fields of a SKU's terms, and the form that changes them.

import { call, skuPath } from "./api.js";
import { el, field } from "./dom.js";
import { form, newID } from "./form.js";

export const termFields = () => [
	el("div.pair", {},
		field("Sale starts", "sale_starts_at", { type: "datetime-local" }),
		field("Sale ends", "sale_ends_at", { type: "datetime-local" })),
	el("div.pair", {},
		field("Units of one buyer", "per_buyer_limit", { inputmode: "numeric" }),
		field("Units of one order", "max_quantity", { inputmode: "numeric" })),
	field("Limit group", "limit_group", { maxlength: 64 }, "the limit of one buyer counts over all SKUs of the group"),
	field("Longest reservation", "max_reserve_for", { placeholder: "15m" }),
];

export function changeTerms(sku, changed) {
	return form("Change the terms", [
		field("Name", "name", { maxlength: 200 }, "what is left empty stays as it is"), ...termFields(), field("Reason", "reason", { maxlength: 500 }),
	], "Change the terms", async (body) => {
		await call("PATCH", skuPath(sku), { ref: newID("terms"), ...body });
		changed();
		return "Done.";
	});
}

// archive asks for the SKU's name, because it cannot be undone.
export function archive(sku, changed) {
	return form("Archive", [field("SKU", "sku", {}, "its name again: it sells nothing more, for good")], "Archive", async ({ sku: typed }) => {
		if (typed !== sku) throw new Error("That is not its name.");
		await call("DELETE", skuPath(sku));
		changed();
		return "Archived.";
	});
}
