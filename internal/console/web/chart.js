// A line over the last minute, drawn on a canvas.

import { el, say } from "./dom.js";
import { repaint } from "./paint.js";

const points = 60;

export class Chart {
	// show turns a value into text.
	constructor(title, note, show) {
		this.values = [];
		this.show = show;
		this.now = el("span", {}, "–");
		this.canvas = el("canvas", { role: "img", "aria-label": `${title}, the last minute` });
		this.node = el("div.figure", { title: note }, el("dt", {}, title), el("dd", {}, this.now, this.canvas));
		this.draw = () => this.#draw();
		new ResizeObserver(() => repaint(this.draw)).observe(this.canvas);
	}

	push(value) {
		this.values.push(value);
		if (this.values.length > points) this.values.shift();
		repaint(this.draw);
	}

	// set takes all points at once.
	set(values) {
		this.values = values.slice(-points);
		repaint(this.draw);
	}

	#draw() {
		const last = this.values.at(-1);
		say(this.now, last === undefined || last === null ? "–" : this.show(last));
		const { clientWidth: width, clientHeight: height } = this.canvas, scale = devicePixelRatio;
		if (!width) return;
		if (this.canvas.width !== Math.round(width * scale)) {
			this.canvas.width = Math.round(width * scale);
			this.canvas.height = Math.round(height * scale);
		}
		const pen = this.canvas.getContext("2d"), style = getComputedStyle(this.canvas);
		pen.setTransform(scale, 0, 0, scale, 0, 0);
		pen.clearRect(0, 0, width, height);
		const known = this.values.filter((value) => value !== null);
		if (known.length < 2) return;
		const top = Math.max(...known) || 1, step = width / (points - 1), begin = points - this.values.length;
		const x = (i) => (begin + i) * step, y = (value) => height - 1.5 - (value / top) * (height - 4);
		pen.beginPath();
		let from = null, to = null;
		this.values.forEach((value, i) => {
			if (value === null) return;
			if (from === null) pen.moveTo(from = x(i), y(value));
			else pen.lineTo(to = x(i), y(value));
		});
		pen.strokeStyle = style.color;
		pen.lineWidth = 1.5;
		pen.lineJoin = "round";
		pen.stroke();
		pen.lineTo(to ?? from, height);
		pen.lineTo(from, height);
		pen.globalAlpha = 0.12;
		pen.fillStyle = style.color;
		pen.fill();
		pen.globalAlpha = 1;
	}
}
