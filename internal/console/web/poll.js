// Reads what events do not carry: again and again, one at a time, and not while nobody looks.

const slowest = 16_000;

// poll runs read every so many milliseconds until it is stopped. After a failure it waits twice as long each time.
export function poll(every, read) {
	let timer = 0, stopped = false, pause = every;
	const run = async () => {
		if (!document.hidden) {
			try {
				await read();
				pause = every;
			} catch (problem) {
				if (problem.status === 401 || problem.status === 403) return;
				pause = Math.min(2 * pause, slowest);
			}
		}
		if (!stopped) timer = setTimeout(run, pause);
	};
	run();
	return () => { stopped = true; clearTimeout(timer); };
}
