// The segments of a SKU as vessels. Vessels are created when the number of segments changes; afterwards only a vessel's
// level and holder change, and only if they are new.

import { be, count, el, say, units } from "./dom.js";
import { repaint } from "./paint.js";

const manySegments = 64; // beyond that, vessels are small and change without an animation

export class Vessels {
	constructor() {
		this.list = el("div.vessels", { role: "group", "aria-label": "Segments that are not read yet" });
		this.pipe = el("div.pipe", { "aria-hidden": "true" });
		this.legend = el("p.legend.quiet");
		this.node = el("div", {}, this.list, this.pipe, this.legend);
		this.levels = [];
		this.shown = [];
		this.holders = new Map(); // by segment
		this.processes = new Map(); // the number of each
		this.full = 1;
		this.known = true; // whether there are locks
		this.draw = () => this.#draw();
		this.pipe.addEventListener("animationend", () => this.pipe.classList.remove("flows"));
	}

	// set takes the units of each segment.
	set(levels, layout) {
		if (this.layout !== layout || levels.length !== this.levels.length) {
			this.layout = layout;
			this.full = 1;
			this.holders.clear();
		}
		this.levels = levels;
		for (const level of levels) this.full = Math.max(this.full, level);
		repaint(this.draw);
	}

	// hold takes the holders of a page of segments, or null while nobody can know them.
	hold(from, size, locks) {
		for (let segment = from; segment < from + size; segment++) this.holders.delete(segment);
		this.known = locks !== null;
		for (const lock of locks ?? []) if (lock.holder) this.holders.set(lock.segment, this.#number(lock.holder));
		repaint(this.draw);
	}

	merged() {
		this.pipe.classList.add("flows");
	}

	// A process may have a name, as in a classroom. The others are counted.
	#number(holder) {
		const process = holder.split(":")[0], [name, id] = process.split("-");
		if (id) return name;
		if (!this.processes.has(process)) this.processes.set(process, String(this.processes.size + 1));
		return this.processes.get(process);
	}

	#draw() {
		if (this.shown.length !== this.levels.length) this.#make();
		let left = 0, empty = 0;
		this.levels.forEach((level, i) => {
			left += level;
			if (level === 0) empty++;
			const shown = this.shown[i], holder = this.holders.get(i) ?? "";
			if (shown.text) be(shown.node, "aria-label", `Segment ${i}: ${units(level)}, ${holder ? `locked by process ${holder}` : "idle"}`);
			if (shown.level !== level || shown.full !== this.full) {
				shown.level = level;
				shown.full = this.full;
				shown.fill.style.transform = `scaleY(${level / this.full})`;
				if (shown.text) say(shown.text, count(level));
				be(shown.node, "data-empty", level === 0 ? "" : null);
			}
			if (shown.holder !== holder) {
				shown.holder = holder;
				be(shown.node, "data-held", holder || null);
				if (shown.mark) say(shown.mark, holder);
			}
		});
		const held = this.holders.size;
		be(this.list, "aria-label", `${units(this.levels.length, "segment")} with ${units(left)}, ${empty} empty, ${held} locked now`);
		const processes = [...new Set(this.holders.values())].sort().join(", ");
		say(this.legend, `${count(this.levels.length - empty)} of ${units(this.levels.length, "segment")} ${this.levels.length === 1 ? "has" : "have"} stock.` +
			(held ? ` ${held} locked now by process ${processes}.` : this.known ? " None is locked now." : ""));
	}

	#make() {
		const small = this.levels.length > manySegments;
		this.list.className = small ? "vessels small" : "vessels";
		this.list.role = small ? "img" : "group"; // of many, the sum is read alone
		this.shown = this.levels.map(() => {
			const fill = el("i");
			const mark = small ? null : el("b");
			const text = small ? null : el("span");
			const node = small ? el("div.vessel", {}, fill) : el("div.vessel", { role: "img" }, mark, el("div.glass", {}, fill), text);
			return { node, fill, mark, text, level: -1, full: 0, holder: "" };
		});
		this.list.replaceChildren(...this.shown.map((shown) => shown.node));
	}
}
