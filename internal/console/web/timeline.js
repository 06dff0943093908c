// When a SKU was in stock and when it was sold out, over the last minutes, and the latest changes in words.

import { clock, el } from "./dom.js";
import { repaint } from "./paint.js";

const span = 5 * 60_000;
const kept = 6; // changes in words

export class Timeline {
	constructor() {
		this.canvas = el("canvas.strip", { role: "img", "aria-label": "In stock and sold out, the last five minutes" });
		this.list = el("ol.changes", { "aria-live": "polite" });
		this.node = el("div", {}, this.canvas, el("p.scale.quiet", {}, el("span", {}, "5 minutes ago"), el("span", {}, "now")), this.list);
		this.changes = []; // { at, out }
		this.draw = () => this.#draw();
		new ResizeObserver(() => repaint(this.draw)).observe(this.canvas);
	}

	// note takes whether the SKU is sold out, as of an instant. Only changes count.
	note(out, at, text) {
		const last = this.changes.at(-1);
		if (last && (last.out === out || at < last.at)) return;
		this.changes.push({ at, out });
		while (this.changes.length > 1 && this.changes[1].at < Date.now() - span) this.changes.shift();
		if (last || out) this.tell(at, text ?? (out ? "Sold out" : "Back in stock"));
		repaint(this.draw);
	}

	tell(at, text) {
		this.list.prepend(el("li", {}, el("time", {}, clock(at)), ` ${text}`));
		while (this.list.children.length > kept) this.list.lastChild.remove();
	}

	tick() { repaint(this.draw); }

	#draw() {
		const { clientWidth: width, clientHeight: height } = this.canvas, scale = devicePixelRatio;
		if (!width) return;
		this.canvas.width = Math.round(width * scale);
		this.canvas.height = Math.round(height * scale);
		const pen = this.canvas.getContext("2d"), style = getComputedStyle(this.canvas), now = Date.now();
		pen.scale(scale, scale);
		this.changes.forEach((change, i) => {
			const until = this.changes[i + 1]?.at ?? now;
			const from = Math.max(0, 1 - (now - change.at) / span) * width, to = (1 - (now - until) / span) * width;
			pen.fillStyle = change.out ? style.getPropertyValue("--ink") : style.getPropertyValue("--accent");
			pen.globalAlpha = change.out ? 0.85 : 0.55;
			pen.fillRect(from, 0, Math.max(1, to - from - 1), height);
		});
	}
}
