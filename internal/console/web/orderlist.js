// Orders of all SKUs: a form that finds them by id, buyer, status and time, and a list in pages.

import { orderPath, Problem, wholePath } from "./api.js";
import { count, el, field, say, when } from "./dom.js";
import { form } from "./form.js";
import { Pages } from "./pages.js";
import { poll } from "./poll.js";

const pageSize = 25;
const lookEvery = 5000, day = 86_400_000;
const statuses = ["reserved", "committed", "cancelled", "expired", "returned"];

// orderLink is the address of an order on this page: of one SKU if sku is set, and of a buyer's own id if own is.
export const orderLink = (id, sku = "", own = "") => `#/order/${[id, sku, own].map(encodeURIComponent).join("/")}`;

// localTime writes an instant as a field for one does.
const localTime = (at) => new Date(at - new Date(at).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);

// showOrders begins with the filter that the address has.
export function showOrders(main, health, filter) {
	let wanted = {}, left = false;
	const note = el("p.quiet", { role: "status" }), body = el("tbody");
	const table = el("table.found", { hidden: true }, el("caption.unseen", {}, "Orders"),
		el("thead", {}, el("tr", {}, ...["Created", "Order", "Buyer", "SKU", "Units", "Status"].map((name) => el("th", { scope: "col" }, name)))), body);
	const pages = new Pages(readPage, show, note);
	const find = form("Find orders", [
		el("div.pair", {},
			field("Order id", "order_id", { placeholder: "any" }),
			field("SKU", "sku", { placeholder: "any" }, "with the id of an order of one SKU"),
			field("Buyer", "buyer_id", { placeholder: "anybody" })),
		el("div.pair", {},
			field("Status", "status", { options: [["", "any"], ...statuses.map((status) => [status, status])] }),
			field("Created since", "since_at", { type: "datetime-local" }),
			field("and before", "until_at", { type: "datetime-local" })),
	], "Find", ({ order_id: id, ...filled }) => (id ? findOne(id, filled) : list(filled)));
	for (const [name, value] of new URLSearchParams(filter || { since_at: localTime(Date.now() - day) })) {
		if (find.elements[name]) find.elements[name].value = value;
	}
	main.replaceChildren(el("div.head", {}, el("h1", {}, "Orders")), el("div.finding", {}, find), note,
		el("div.wide", { tabindex: "0", role: "region", "aria-label": "Orders" }, table), pages.node);

	// list shows the orders of a filter, the oldest first.
	async function list({ sku, buyer_id: buyer, status, since_at: since, until_at: until }) {
		if (sku) throw new Error("Add the id of the order: the list has no filter for SKUs.");
		wanted = Object.fromEntries(Object.entries({ buyer_id: buyer, status, since, until }).filter(([, value]) => value));
		table.hidden = pages.node.hidden = true;
		const filled = [...new FormData(find)].filter(([name, value]) => value && name !== "sku");
		window.history.replaceState(null, "", `#/orders/${new URLSearchParams(filled)}`); // to come back to
		await pages.start();
	}

	function readPage(after) {
		return health.read(`v1/orders?${new URLSearchParams({ ...wanted, limit: pageSize, ...(after && { after }) })}`);
	}

	function show({ orders, next }) {
		body.replaceChildren(...orders.map(row));
		table.hidden = orders.length === 0;
		say(note, orders.length ? "" : next ? "The service has found none so far. Next looks further." : "There are no such orders.");
		return orders.length;
	}

	async function findOne(id, { sku = "", buyer_id: buyer }) {
		const found = await linkTo(id, sku, buyer);
		const more = sku || buyer ? "There is no such order." : "No order of several SKUs has this id. To find one of a single SKU, add its SKU or its buyer.";
		if (!found) throw new Error(more);
		if (!left) location.hash = found;
	}

	// linkTo finds an order: of several SKUs by its id alone, of one SKU with that SKU or its buyer.
	async function linkTo(id, sku, buyer) {
		if (await isThere(sku ? orderPath(sku, id) : wholePath(id))) return orderLink(id, sku);
		return buyer && !sku ? findOfBuyer(id, buyer) : "";
	}

	async function isThere(path) {
		try {
			return await health.read(path);
		} catch (problem) {
			if (problem instanceof Problem && problem.status === 404 && problem.code) return null;
			throw problem;
		}
	}

	// findOfBuyer reads all orders of a buyer until it meets an id.
	async function findOfBuyer(id, buyer) {
		for (let after = ""; after !== undefined;) {
			const page = await health.read(`v1/orders?${new URLSearchParams({ buyer_id: buyer, limit: 1000, ...(after && { after }) })}`);
			const order = page.orders.find((one) => one.order_id === id);
			if (order) return linkOf(order);
			after = page.next;
		}
		return "";
	}

	find.requestSubmit();
	const stop = poll(lookEvery, () => health.read("v1/skus?limit=1")); // whether the service and its database answer
	return () => { left = true; stop(); };
}

const linkOf = (line) => orderLink(line.order_id, line.order ? "" : line.sku, line.own ? line.buyer_id : "");

function row(line) {
	return el("tr", {}, el("td", {}, when(line.created_at)), el("th", { scope: "row" }, el("a", { href: linkOf(line) }, line.order_id)),
		...[line.buyer_id ?? "", line.sku, count(line.quantity), line.status].map((text) => el("td", {}, text)));
}
