// Forms whose fields are the members of a request. The text of a refusal stands next to the form.

import { el, say } from "./dom.js";

const numbers = new Set(["stock", "segments", "quantity", "per_buyer_limit", "max_quantity"]);
const flags = new Set(["restock"]);

// form passes the filled fields to send, which returns a sentence for the person.
export function form(name, fields, button, send) {
	const told = el("p.told", { role: "status" });
	const submit = el("button", { type: "submit" }, button);
	const node = el("form", { "aria-label": name, novalidate: true }, ...fields, el("div.actions", {}, submit, told));
	node.addEventListener("submit", async (event) => {
		event.preventDefault();
		const empty = [...node.elements].find((field) => field.required && field.value.trim() === "");
		if (empty) {
			told.className = "told bad";
			say(told, `${empty.labels[0].textContent} is empty.`);
			return empty.focus();
		}
		submit.disabled = true;
		told.className = "told";
		try {
			say(told, (await send(bodyOf(node))) ?? "");
		} catch (problem) {
			told.className = "told bad";
			say(told, problem.message);
		}
		submit.disabled = false;
	});
	return node;
}

function bodyOf(node) {
	const body = {};
	for (const [name, value] of new FormData(node)) {
		const text = value.trim();
		if (text === "") continue;
		if (numbers.has(name) && /^-?\d+$/.test(text)) body[name] = Number(text);
		else if (flags.has(name)) body[name] = text === "true";
		else if (name.endsWith("_at")) body[name] = new Date(text).toISOString();
		else body[name] = text;
	}
	return body;
}

// linesOf reads "laces-7 2, bulb-7".
export function linesOf(text) {
	return text.split(",").map((part) => {
		const [sku, units = "1"] = part.trim().split(/\s+/);
		return { sku, quantity: Number(units) };
	});
}

// newID makes an id for a request: sent twice, it takes effect once.
export const newID = (what) => `${what}-${crypto.getRandomValues(new Uint32Array(2)).reduce((text, n) => text + n.toString(36), "")}`;

// dialog shows a form above the page.
export function dialog(title, content) {
	const node = el("dialog", { "aria-label": title },
		el("header", {}, el("h2", {}, title), el("button.quiet", { type: "button", onclick: () => node.close() }, "Close")), content);
	node.addEventListener("close", () => node.remove());
	document.body.append(node);
	node.showModal();
	return node;
}
