// Live events. EventSource cannot send a key, so this reads the stream by fetch. After it was cut off it connects again,
// and reports both.

import { address, headers } from "./api.js";

const firstPause = 500;
const longestPause = 8000;

// watch reads events until it is stopped. It passes each to take, and the state of the connection to state: "live",
// "lost" with the seconds until the next attempt, "refused" with the status, or "unknown" if there is no such SKU.
export function watch(sku, take, state) {
	const stop = new AbortController();
	follow(sku, take, state, stop.signal);
	return () => stop.abort();
}

async function follow(sku, take, state, signal) {
	let last = "";
	for (let pause = firstPause; !signal.aborted; pause = Math.min(2 * pause, longestPause)) {
		try {
			const query = sku ? `?sku=${encodeURIComponent(sku)}` : "";
			const answer = await fetch(address(`v1/events${query}`), {
				headers: headers(last ? { "last-event-id": last } : {}), signal, cache: "no-store",
			});
			if (answer.status === 404) return state("unknown");
			if (answer.status === 401 || answer.status === 403) return state("refused", answer.status);
			if (answer.ok) {
				state("live");
				pause = firstPause;
				for await (const event of events(answer.body)) {
					last = event.id || last;
					take(event.kind, event.data);
				}
			}
		} catch { /* the connection is lost, or the page goes on to something else */ }
		if (signal.aborted) return;
		state("lost", Math.ceil(pause / 1000));
		await rest(pause, signal);
	}
}

// events parses the stream: blocks of "name: value", each followed by an empty line.
async function* events(body) {
	const reader = body.pipeThrough(new TextDecoderStream()).getReader();
	for (let text = ""; ;) {
		const { value, done } = await reader.read();
		if (done) return;
		text += value;
		const blocks = text.split("\n\n");
		text = blocks.pop();
		for (const block of blocks) {
			const fields = Object.fromEntries(block.split("\n").map((line) => line.split(/: ?(.*)/s).slice(0, 2)));
			if (fields.data) yield { id: fields.id, kind: fields.event, data: JSON.parse(fields.data) };
		}
	}
}

function rest(pause, signal) {
	return new Promise((resolve) => {
		const timer = setTimeout(resolve, pause);
		signal.addEventListener("abort", () => { clearTimeout(timer); resolve(); }, { once: true });
	});
}
