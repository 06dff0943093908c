// Pages of a list of the service. Each has the place where the next one begins, so there is no bound, and no last page is known.

import { count, el, say } from "./dom.js";

export class Pages {
	// read reads the page after a place, show shows it and returns how many lines it has, told says why there is none.
	constructor(read, show, told) {
		Object.assign(this, { read, show, told });
		this.back = el("button.quiet", { type: "button", onclick: () => this.#turn(() => this.starts.pop()) }, "Previous");
		this.on = el("button.quiet", { type: "button", onclick: () => this.#turn(() => this.starts.push(this.next)) }, "Next");
		this.where = el("span.quiet");
		this.node = el("nav.pages", { "aria-label": "Pages of the list", hidden: true }, this.back, this.where, this.on);
		this.starts = [{ after: "", first: 1 }]; // of the pages up to this one
		this.asked = 0; // an answer to an earlier question comes too late
	}

	// start shows the first page.
	start() {
		return this.#turn(() => { this.starts.length = 1; });
	}

	// again reads the page that is shown.
	async again() {
		const asked = ++this.asked, { after, first } = this.starts.at(-1);
		const page = await this.read(after);
		if (asked !== this.asked) return;
		const lines = this.show(page, first);
		this.next = { after: page.next, first: first + lines };
		this.back.disabled = first === 1 && this.starts.length === 1;
		this.on.disabled = !page.next;
		this.node.hidden = this.back.disabled && this.on.disabled;
		say(this.where, lines ? `${count(first)} to ${count(first + lines - 1)}` : "");
	}

	// turn goes to another page, and back if it cannot be read.
	async #turn(go) {
		const before = [...this.starts];
		go();
		this.back.disabled = this.on.disabled = true;
		try {
			await this.again();
		} catch (problem) {
			this.starts = before;
			this.back.disabled = before.length === 1;
			this.on.disabled = !this.next?.after;
			if (problem.status >= 400 && problem.status < 500) say(this.told, `${problem.title}: ${problem.message}`); // the banner tells of others
		}
	}
}
