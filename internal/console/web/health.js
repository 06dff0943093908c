// What answers, and what does not. All reads of a page go through here. So one place knows since when the page shows old
// figures, and the banner says what is wrong, what still works, and what to do.

import { call, key, skuPath } from "./api.js";
import { ago, be, clock, el, say } from "./dom.js";

const patience = 10_000; // milliseconds for the answer to a read

// The faults, the worst first: of several the banner tells the first. A request passes these stages in this order, but for the last.
const faults = {
	service: {
		title: () => "The service does not answer",
		works: "Other processes may sell on: this page cannot tell.",
		todo: "Look whether the process runs, and whether the network lets this page through.",
	},
	key: {
		title: () => (key() ? "The service does not take this key" : "The service asks for a key"),
		works: "Sales go on.",
		todo: "Enter a key that is valid: inventory key new makes one.",
	},
	busy: {
		title: () => "Too many requests wait",
		works: "Sales go on, but slowly.",
		todo: "Wait, and close other pages like this one.",
	},
	database: {
		title: () => "The database does not answer",
		works: "The service runs, but sells nothing: orders get 503, and may be sent again.",
		todo: "Start the database, or look at its log, disk and connections. The service then goes on by itself.",
	},
	locks: {
		title: () => "Redis does not work",
		works: "Sales go on under the guard of the database. There are no locks, and no events of other processes.",
		todo: "Start Redis again, empty if necessary.",
	},
};
const stages = Object.keys(faults).filter((name) => name !== "locks");

function faultOf({ status, code }) {
	if (!code) return "service"; // what a proxy says for it has none
	if (status === 401) return "key";
	if (status === 429 || code === "overloaded") return "busy";
	return status >= 500 ? "database" : "";
}

export class Health {
	// enterKey opens the form for a key.
	constructor(banner, main, link, enterKey) {
		Object.assign(this, { banner, main, link, enterKey });
		this.began = new Map(); // when each fault was seen first
		this.good = 0; // when the page last read the database; 0: never
		this.stream = ["", 0];
		this.page = 0; // counts pages: an answer to one that is left says nothing
		this.title = el("strong");
		this.works = el("span");
		this.todo = el("span");
		this.age = el("p.quiet");
		this.enter = el("button.quiet", { type: "button", onclick: () => enterKey() }, "Enter a key");
		banner.replaceChildren(el("p", { role: "status" }, this.title, " ", this.works, " ", this.todo), this.age, this.enter);
		setInterval(() => this.#showAge(), 1000);
	}

	// leave forgets what only the page knows that is left, and which key it has used.
	leave() {
		this.page++;
		this.good = 0;
		this.stream = ["", 0];
		this.began.delete("key");
		this.began.delete("locks");
		this.#show();
	}

	// gone is whether nothing comes from the service, and no events either.
	get gone() {
		return this.began.has("service") || this.began.has("key");
	}

	// read reads something that the service has from the database.
	read(path) {
		return this.#get(path, () => {
			this.good = Date.now();
			this.#reached("");
		});
	}

	// ask reads something that the service may know by itself.
	ask(path) {
		return this.#get(path, () => this.#reached("database"));
	}

	// get sends a read, and passes its answer to answered if the page is still there.
	async #get(path, answered) {
		const page = this.page, here = () => page === this.page;
		try {
			const answer = await call("GET", path, undefined, AbortSignal.timeout(patience));
			if (here()) answered(answer);
			return answer;
		} catch (problem) {
			if (here()) this.#refused(faultOf(problem));
			throw problem;
		}
	}

	// readLocks reads who holds the locks of a SKU, and notes whether there are any.
	readLocks(sku, from, limit) {
		return this.#get(skuPath(sku, `/locks?from=${from}&limit=${limit}`), (locks) => {
			if (locks.use === "failing") this.#begin("locks");
			else this.began.delete("locks");
			this.#reached("database");
		});
	}

	// linked takes the state of the stream of events, with the seconds until the next attempt or the status of a refusal.
	linked(state, number) {
		this.stream = [state, number];
		if (state === "refused" && number === 401) this.#begin("key");
		this.#show();
	}

	// reached ends the faults of all stages before one: a request has passed them.
	#reached(stage) {
		for (const name of stages) {
			if (name === stage) break;
			this.began.delete(name);
		}
		this.#show();
	}

	// refused takes the fault of a refusal, if it has one: the service may refuse without its database.
	#refused(fault) {
		this.#reached(fault || "database");
		if (fault) this.#begin(fault);
	}

	#begin(fault) {
		if (this.began.has(fault)) return;
		this.began.set(fault, Date.now());
		this.#show();
		if (fault === "key") this.enterKey();
	}

	#show() {
		const fault = Object.keys(faults).find((name) => this.began.has(name)), old = Boolean(fault) && fault !== "locks";
		be(this.main, "data-old", old ? "" : null);
		this.banner.hidden = !fault;
		this.enter.hidden = fault !== "key";
		if (fault) {
			const { title, works, todo } = faults[fault];
			say(this.title, `${title()} (since ${clock(this.began.get(fault))}).`);
			say(this.works, works);
			say(this.todo, todo);
		}
		this.#showLink(old ? fault : "");
		this.#showAge();
	}

	#showAge() {
		const old = this.main.hasAttribute("data-old");
		this.age.hidden = !old;
		if (old) say(this.age, this.good ? `The grey figures are those of ${clock(this.good)}, ${ago(this.good)} ago.` : "This page has read nothing yet.");
	}

	#showLink(fault) {
		const [state, seconds] = this.stream, lost = state === "lost" && (!fault || fault === "service");
		const words = { live: "Live", unknown: "Unknown SKU", refused: "Not let in" };
		be(this.link, "data-state", fault ? "lost" : state || null);
		say(this.link, lost ? `Connection lost, trying again in ${seconds} s` : fault ? faults[fault].title() : words[state] ?? "");
	}
}
