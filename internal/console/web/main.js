// The page starts here: it reads the service's settings, and shows the view that the address names.

import { call, key } from "./api.js";
import { say } from "./dom.js";
import { askForKey } from "./keys.js";
import { showSKU } from "./sku.js";
import { showSKUs } from "./skus.js";

const main = document.getElementById("main"), link = document.getElementById("link");
let leave = () => {}, first = true, keys = false;

function linkState(state, seconds) {
	link.dataset.state = state;
	if (state === "live") say(link, "Live");
	else if (state === "lost") say(link, `Connection lost, trying again in ${seconds} s`);
	else if (state === "unknown") say(link, "Unknown SKU");
	else {
		say(link, "Not let in");
		if (keys) askForKey(show, key() ? "The service does not take this key for that." : "This service asks for a key.");
	}
}

function show() {
	leave();
	const [, place, name] = location.hash.split("/");
	const sku = place === "sku" ? decodeURIComponent(name ?? "") : "";
	document.title = sku ? `${sku} · inventory` : "inventory";
	leave = sku ? showSKU(main, sku, linkState) : showSKUs(main, linkState);
	for (const a of document.querySelectorAll(".bar nav a")) {
		if (a.getAttribute("href") === "#/") a.setAttribute("aria-current", sku ? "true" : "page");
	}
	if (!first) main.focus({ preventScroll: true });
	if (!first) scrollTo(0, 0);
	first = false;
}

async function start() {
	const settings = await call("GET", "console/settings.json").catch(() => ({}));
	document.getElementById("to-classroom").hidden = !settings.classroom;
	keys = settings.keys === true;
	document.getElementById("key").hidden = !keys;
	document.getElementById("key").addEventListener("click", () => askForKey(show));
	addEventListener("hashchange", show);
	if (keys && !key()) askForKey(show, "This service asks for a key.");
	else show();
}

start();
