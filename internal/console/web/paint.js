// One frame for everything. A part that has something new to show may request a drawing at any time. It draws once, with
// all others, when the browser paints.

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
