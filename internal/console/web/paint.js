// One frame for everything. Whoever has something new to show says so as often as it likes, and draws once, with all
// others, when the browser paints.

const waiting = new Set();
let asked = false;

export function repaint(draw) {
	waiting.add(draw);
	if (!asked) {
		asked = true;
		requestAnimationFrame(frame);
	}
}

function frame() {
	asked = false;
	const draws = [...waiting];
	waiting.clear();
	for (const draw of draws) draw();
}
