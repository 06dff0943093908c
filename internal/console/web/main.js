// The page starts here: it reads the service's settings, and shows the view that the address names.

import { call, key } from "./api.js";
import { be } from "./dom.js";
import { Health } from "./health.js";
import { askForKey } from "./keys.js";
import { showOrders } from "./orderlist.js";
import { showOrder } from "./orderpage.js";
import { showSKU } from "./sku.js";
import { showSKUs } from "./skus.js";

const main = document.getElementById("main");
let health, leave = () => {}, first = true;

function show() {
	leave();
	health.leave();
	const [, place = "", ...parts] = location.hash.split("/");
	const title = place === "orders" ? "Orders" : decodeURIComponent(parts[0] ?? "");
	document.title = title ? `${title} · inventory` : "inventory";
	leave = showPlace(place, parts);
	markPlace(place);
	if (!first) main.focus({ preventScroll: true });
	if (!first) scrollTo(0, 0);
	first = false;
}

function showPlace(place, parts) {
	const [name = "", sku = "", own = ""] = parts.map(decodeURIComponent);
	if (place === "sku") return showSKU(main, name, health);
	if (place === "orders") return showOrders(main, health, parts[0]);
	if (place === "order") return showOrder(main, health, name, sku, own);
	return showSKUs(main, health);
}

// markPlace marks the link to the list that is shown, or to which the page belongs.
function markPlace(place) {
	const list = place.startsWith("order") ? "#/orders" : "#/", there = place === "" || place === "orders";
	for (const a of document.querySelectorAll(".bar nav a")) be(a, "aria-current", a.getAttribute("href") !== list ? null : there ? "page" : "true");
}

async function start() {
	const settings = await call("GET", "console/settings.json").catch(() => ({}));
	document.getElementById("to-classroom").hidden = !settings.classroom;
	const button = document.getElementById("key");
	button.hidden = !settings.keys;
	button.addEventListener("click", () => askForKey(show));
	health = new Health(document.getElementById("banner"), main, document.getElementById("link"),
		() => askForKey(show, key() ? "The service does not take this key." : "This service asks for a key."));
	addEventListener("hashchange", show);
	show();
}

start();
