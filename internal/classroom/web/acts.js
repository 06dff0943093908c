// The acts: what each did to the speed, whether the audit still holds, and why.

import { clock, el, rate, say } from "/console/dom.js";

const verdicts = { ok: "Audit: every unit adds up", wrong: "Audit: the sum is wrong", "": "" };

export class Acts {
	constructor() {
		this.list = el("ol.acts", { "aria-live": "polite" });
		this.nothing = el("p.empty", {}, "Nothing yet. Start a sale, then break something.");
		this.node = el("div", {}, this.nothing, this.list);
		this.shown = new Map();
	}

	show(acts) {
		this.nothing.hidden = acts.length > 0;
		for (const act of acts.toReversed()) {
			if (!this.shown.has(act.id)) this.#add(act);
			this.#complete(act);
		}
		while (this.list.children.length > acts.length) this.list.lastChild.remove();
	}

	#add(act) {
		const speed = el("strong"), slowest = el("span"), verdict = el("p.verdict");
		this.shown.set(act.id, { speed, slowest, verdict, done: false });
		this.list.prepend(el("li", {},
			el("div.what", {}, el("strong", {}, act.what), el("time", {}, clock(act.at)), verdict),
			el("p.measured", {}, speed, slowest), el("p.why", {}, act.why)));
	}

	#complete(act) {
		const shown = this.shown.get(act.id);
		if (shown.done) return;
		const { before, after } = act;
		const change = (what, unit) => [before && rate(before[what]), after ? rate(after[what]) : act.measuring && "…"].filter(Boolean).join(" → ") + unit;
		const measured = after || act.measuring;
		say(shown.speed, measured ? change("accepted", " orders a second") : before ? "Not measured: the sale ended" : "");
		say(shown.slowest, measured ? `99 of 100 within ${change("p99", " ms")}` : "");
		say(shown.verdict, verdicts[act.audit]);
		shown.verdict.className = act.audit === "wrong" ? "verdict bad" : "verdict good";
		shown.done = !act.measuring;
	}
}
