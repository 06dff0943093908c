// The classroom's page: it reads the state once a second, and the effect of a button is in the next state.

import { call, skuPath } from "/console/api.js";
import { Chart } from "/console/chart.js";
import { be, el, rate, say, tell } from "/console/dom.js";
import { repaint } from "/console/paint.js";
import { poll } from "/console/poll.js";
import { watch } from "/console/stream.js";
import { Vessels } from "/console/vessels.js";
import { Acts } from "/classroom/acts.js";
import { Controls } from "/classroom/controls.js";

const link = document.getElementById("link"), toSKU = document.getElementById("to-sku"), room = document.getElementById("controls");
const vessels = new Vessels(), acts = new Acts();
const whole = "Of the whole sale, as its buyers see it";
const accepted = new Chart("Accepted a second", whole, rate), refused = new Chart("Refused a second", whole, rate);
const slow = new Chart("99 of 100 within", whole, (ms) => `${rate(ms)} ms`), failed = new Chart("Failed a second", whole, rate);
const controls = new Controls(act);
let state = null, sku = "", stop = () => {}, acted = 0;

document.getElementById("board").append(
	el("section.now", { "aria-label": "The sale now" }, el("dl.figures", {}, ...[accepted, refused, slow, failed].map((chart) => chart.node))),
	el("section.segments", {}, el("h2", {}, "Segments"), vessels.node),
	el("section.did", {}, el("h2", {}, "What you did"), acts.node));

// act sends a command and shows the state that it returns.
async function act(path, body) {
	acted++;
	try {
		take(await call("POST", `classroom/${path}`, body));
	} catch (problem) {
		tell(problem.message, true);
	}
	acted++;
}

function take(next) {
	state = next;
	repaint(draw);
	if (state.sale && state.sale.sku !== sku) follow(state.sale.sku);
}

function draw() {
	controls.show(state);
	if (room.children.length === 0) room.append(...controls.nodes); // not earlier: a choice would be lost
	acts.show(state.acts);
	const points = state.sale?.points ?? [], ended = state.sale?.running ? [] : [null]; // nothing is sold now
	accepted.set([...points.map((point) => point.accepted), ...ended]);
	refused.set([...points.map((point) => point.refused), ...ended]);
	slow.set([...points.map((point) => point.p99), ...ended]);
	failed.set([...points.map((point) => point.failed), ...ended]);
	toSKU.hidden = !state.sale;
	if (state.sale) toSKU.href = `console#/sku/${state.sale.sku}`;
}

// follow watches another SKU.
function follow(next) {
	stop();
	sku = next;
	let layout = 0;
	const stops = [
		watch(sku, (kind) => { if (kind === "merge") vessels.merged(); }, linkState),
		poll(500, async () => {
			const status = await call("GET", skuPath(sku));
			layout = status.segments.length;
			vessels.set(status.segments.map((part) => part.available), `${sku} ${status.layout}`);
		}),
		poll(1000, async () => vessels.hold(0, Math.max(layout, 64), (await call("GET", skuPath(sku, "/locks?limit=64"))).locks)),
	];
	stop = () => { for (const end of stops) end(); };
}

function linkState(how, seconds) {
	be(link, "data-state", how);
	say(link, how === "live" ? "Live" : how === "lost" ? `Connection lost, trying again in ${seconds} s` : "Not let in");
}

// A state that was read while a command ran may be older than the command's own.
poll(1000, async () => {
	const before = acted, next = await call("GET", "classroom/state");
	if (before === acted) take(next);
});
