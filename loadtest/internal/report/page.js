// Whoever points at a plot is told the value that is nearest.
const told = document.createElement("div")
told.className = "told"
told.hidden = true
told.setAttribute("role", "status")
document.body.append(told)

for (const plot of document.querySelectorAll("svg.plot")) {
	const places = JSON.parse(plot.dataset.hints)
	const show = event => {
		const pointer = new DOMPoint(event.clientX, event.clientY).matrixTransform(plot.getScreenCTM().inverse())
		let nearest, least = Infinity
		for (const place of places) {
			const distance = Math.hypot(place[0] - pointer.x, place[1] - pointer.y)
			if (distance < least) [nearest, least] = [place, distance]
		}
		if (!nearest) return
		told.textContent = nearest[2]
		told.hidden = false
		const at = new DOMPoint(nearest[0], nearest[1]).matrixTransform(plot.getScreenCTM())
		told.style.left = Math.max(0, Math.min(at.x + 8, innerWidth - told.offsetWidth - 4)) + "px"
		told.style.top = Math.max(0, at.y - told.offsetHeight - 8) + "px"
	}
	plot.addEventListener("pointermove", show)
	plot.addEventListener("pointerdown", show)
	plot.addEventListener("pointerleave", () => { told.hidden = true })
}
