// The key: the page asks for it when the service does, and keeps it for this tab only.

import { key, setKey } from "./api.js";
import { el, field } from "./dom.js";
import { dialog, form } from "./form.js";

// askForKey asks once at a time, and calls done when the person has answered.
export function askForKey(done, why = "") {
	if (document.querySelector("dialog[data-key]")) return;
	const node = form("Key", [
		why ? el("p", {}, why) : null,
		field("API key", "key", { type: "password", autofocus: true, value: key(), placeholder: "inv_…" },
			"Kept for this tab alone. With a key of the scope admin you can change SKUs and see locks."),
	].filter(Boolean), "Use it", ({ key: typed }) => {
		setKey(typed);
		box.close();
		done();
	});
	const box = dialog("Key", node);
	box.dataset.key = "";
}
