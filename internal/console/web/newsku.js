// The form that creates a SKU, with its terms.

import { call, skuPath } from "./api.js";
import { el, field, tell } from "./dom.js";
import { dialog, form } from "./form.js";
import { termFields } from "./terms.js";

export function askForSKU() {
	const node = form("New SKU", [
		el("div.pair", {},
			field("SKU", "sku", { required: true, autofocus: true, maxlength: 64, placeholder: "sneaker-42" }),
			field("Name", "name", { maxlength: 200, placeholder: "for people" })),
		el("div.pair", {},
			field("Units", "stock", { required: true, inputmode: "numeric", value: "1000" }),
			field("Segments", "segments", { inputmode: "numeric", value: "10" }, "parts that are sold side by side")),
		el("details", {}, el("summary", {}, "Terms"), ...termFields()),
	], "Create", async ({ sku, ...body }) => {
		await call("PUT", skuPath(sku), body);
		box.close();
		tell(`${sku} is created.`);
		location.hash = `#/sku/${encodeURIComponent(sku)}`;
	});
	const box = dialog("New SKU", node);
}
