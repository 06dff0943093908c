// Rates from numbers that only grow. Behind a balancer different processes answer, and each has its own numbers.

export class Rates {
	#before = new Map();

	// since returns the increase since the last answer of the same process, and the seconds in between; null at first.
	since(activity) {
		const before = this.#before.get(activity.process);
		this.#before.set(activity.process, activity);
		if (!before) return null;
		const seconds = (new Date(activity.at) - new Date(before.at)) / 1000;
		if (seconds <= 0) return null;
		const tally = (name) => ({ count: activity[name].count - before[name].count, sum: activity[name].sum - before[name].sum });
		return {
			refused: (activity.refused - before.refused) / seconds,
			batches: tally("batches"),
			waits: tally("lock_wait_seconds"),
			missed: tally("lock_missed_seconds"),
			fencedOut: activity.fenced_out - before.fenced_out,
		};
	}
}

export const mean = ({ count, sum }) => (count > 0 ? sum / count : null);
