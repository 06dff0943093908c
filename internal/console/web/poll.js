// Reads what events do not carry: again and again, one read at a time, and none while the page is hidden.

const slowest = 5000;

// poll calls read at an interval in milliseconds until it is stopped. After each failure it doubles the wait.
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
