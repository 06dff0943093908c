// Figures a second: the SKU's from events, and those that events do not carry from the process that answers.

import { Chart } from "./chart.js";
import { el, rate, say } from "./dom.js";
import { poll } from "./poll.js";
import { Rates, mean } from "./rates.js";

const ofSKU = "Of this SKU, in all processes", ofProcess = "Of the process that answers, all SKUs together";
const words = { working: "Locks work.", failing: "Locks fail: selling goes on under the guard of the database.", off: "There are no locks: the guard of the database decides alone." };

export class Figures {
	constructor(health) {
		this.health = health;
		const milliseconds = (seconds) => `${rate(1000 * seconds)} ms`;
		this.orders = new Chart("Accepted a second", ofSKU, rate);
		this.merges = new Chart("Merged a second", ofSKU, rate);
		this.refused = new Chart("Refused a second", ofProcess, rate);
		this.batch = new Chart("Orders in a batch", ofProcess, rate);
		this.waits = new Chart("Wait for a lock", ofProcess, milliseconds);
		this.queue = new Chart("Orders waiting", ofProcess, rate);
		this.locks = el("p.locks.quiet", { role: "status" });
		const all = [this.orders, this.merges, this.refused, this.batch, this.waits, this.queue];
		this.node = el("section", { "aria-label": "What happens now" }, el("dl.figures", {}, ...all.map((chart) => chart.node)), this.locks);
		this.counted = { orders: 0, merged: 0 };
		this.rates = new Rates();
		this.use = "";
	}

	take(kind, event) {
		if (kind === "sale" || kind === "merge") this.counted.orders += event.orders ?? 0;
		if (kind === "merge") this.counted.merged += event.orders ?? 0;
	}

	locksAre(use) {
		if (use === this.use) return;
		this.use = use;
		say(this.locks, words[use] ?? "");
		this.locks.className = use === "failing" ? "locks bad" : "locks quiet";
	}

	// start counts once a second until it is stopped.
	start(tick) {
		const counting = setInterval(() => {
			const unknown = this.health.gone;
			this.orders.push(unknown ? null : this.counted.orders);
			this.merges.push(unknown ? null : this.counted.merged);
			this.counted = { orders: 0, merged: 0 };
			tick();
		}, 1000);
		const stop = poll(1000, () => this.#read());
		return () => { clearInterval(counting); stop(); };
	}

	async #read() {
		const activity = await this.health.ask("v1/activity");
		this.queue.push(activity.waiting);
		const since = this.rates.since(activity);
		if (!since) return;
		this.refused.push(since.refused);
		this.batch.push(mean(since.batches));
		this.waits.push(mean({ count: since.waits.count + since.missed.count, sum: since.waits.sum + since.missed.sum }));
	}
}
