// The controls: start and stop a sale, choose the services, and break them.

import { be, el, field, say } from "/console/dom.js";

const mixes = [["singles", "One unit each"], ["many", "1 to 5 units"], ["reserve", "Half of them reservations"]];
const writes = [["batches", "In batches"], ["singly", "Order by order"]];
const locks = [["reentrant", "Reentrant"], ["fair", "Fair: first come, first served"], ["redlock", "RedLock over three servers"], ["none", "None: the guard alone"]];

export class Controls {
	// act sends a command: a path and a body.
	constructor(act) {
		this.act = act;
		this.stop = el("button.quiet", { type: "button", hidden: true, onclick: () => act("stop", {}) }, "Stop");
		this.start = el("button", { type: "submit" }, "Start a sale");
		const restock = el("input", { type: "checkbox", name: "restock", checked: true, id: "restock" });
		const pace = field("Orders a second", "pace", { inputmode: "numeric", value: "1500" });
		const stock = field("Units", "stock", { inputmode: "numeric", value: "10000" });
		const fast = el("input", {
			type: "checkbox", name: "fast", id: "fast",
			onchange: () => {
				pace.querySelector("input").disabled = fast.checked;
				stock.querySelector("input").value = fast.checked ? "1000000" : "10000"; // more than a second sells: it is restocked once a second
			},
		});
		const sale = el("form", { "aria-label": "The sale", novalidate: true },
			pace, el("div.check", {}, fast, el("label", { for: "fast" }, "As fast as it can")),
			field("They want", "mix", { options: mixes }),
			el("div.pair", {},
				stock,
				field("Segments", "segments", { inputmode: "numeric", value: "10" })),
			el("div.check", {}, restock, el("label", { for: "restock" }, "Restock when a third is left")),
			el("div.actions", {}, this.start, this.stop));
		sale.addEventListener("submit", (event) => {
			event.preventDefault();
			const filled = new FormData(sale), number = (name) => Math.trunc(Number(filled.get(name)));
			act("sale", {
				pace: fast.checked ? 0 : number("pace") || -1, mix: filled.get("mix"), stock: number("stock"), segments: number("segments"), restock: restock.checked,
			});
		});
		this.lock = field("Lock of a segment", "lock", { options: locks });
		this.processes = field("Processes", "processes", { options: [["1", "1"], ["2", "2"], ["3", "3"]] });
		this.writes = field("Writes", "writes", { options: writes });
		this.runs = el("p.runs", { role: "status" }); // a choice that was refused does not run
		const house = el("form", { "aria-label": "The services", novalidate: true }, this.lock, el("div.pair", {}, this.processes, this.writes),
			el("div.actions", {}, el("button.quiet", { type: "submit" }, "Use these")));
		house.addEventListener("submit", (event) => {
			event.preventDefault();
			const filled = new FormData(house);
			act("house", { lock: filled.get("lock"), processes: Number(filled.get("processes")), singly: filled.get("writes") === "singly" });
		});
		this.breaks = el("div.breaks");
		const section = (name, heading, ...content) => el(`section.${name}`, {}, el("h2", {}, heading), ...content);
		this.nodes = [section("sale", "The sale", sale), section("services", "The services", this.runs, house), section("break", "Break it", this.breaks)];
		this.made = "";
		this.buttons = [];
	}

	show(state) {
		this.stop.hidden = !state.sale?.running;
		say(this.start, state.sale?.running ? "Start another" : "Start a sale");
		say(this.runs, `Now: ${state.runs}`);
		const made = `${state.lock} ${state.processes} ${state.singly}`;
		if (this.made !== made) {
			this.made = made;
			this.lock.querySelector("select").value = state.lock;
			this.processes.querySelector("select").value = String(state.processes);
			this.writes.querySelector("select").value = state.singly ? "singly" : "batches";
			this.#make(state);
		}
		for (const button of this.buttons) button.show(state);
	}

	#make(state) {
		this.buttons = [];
		this.breaks.replaceChildren(...state.breaks.map((what) => {
			if (!what.each) return this.#button(what, 0);
			const each = Array.from({ length: state.processes }, (_, process) => this.#button(what, process));
			return el("div.each", { role: "group", "aria-label": what.break }, ...each);
		}));
	}

	#button(what, process) {
		let broken = false;
		const node = el("button.quiet", {
			type: "button", onclick: () => this.act("break", { name: what.name, process, broken: what.mend === "" || !broken }),
		});
		const number = what.each ? ` ${process + 1}` : "";
		const isBroken = {
			redis: (state) => !state.redis, locks: (state) => state.locks_off, empty: () => false,
			stall: (state) => state.services[process]?.stalled, cut: (state) => state.services[process]?.cut,
		}[what.name];
		this.buttons.push({
			show(state) {
				broken = Boolean(isBroken(state));
				say(node, (broken ? what.mend : what.break) + number);
				if (what.mend !== "") be(node, "aria-pressed", broken);
			},
		});
		return node;
	}
}
