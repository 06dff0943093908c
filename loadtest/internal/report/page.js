// Whoever points at a plot is told the value that is nearest.
const told = document.createElement("div")
told.className = "told"
told.hidden = true
told.setAttribute("role", "status")
document.body.append(told)

for (const plot of document.querySelectorAll("svg.plot")) {
	const places = JSON.parse(plot.dataset.hints)
	const show = event => {
		const box = plot.getBoundingClientRect()
		let least = Infinity, left, top, value
		for (const [x, y, text] of places) {
			const at = [box.left + x * box.width / 100, box.top + y]
			const distance = Math.hypot(at[0] - event.clientX, at[1] - event.clientY)
			if (distance < least) [least, left, top, value] = [distance, ...at, text]
		}
		if (!value) return
		told.textContent = value
		told.hidden = false
		told.style.left = Math.max(0, Math.min(left + 8, innerWidth - told.offsetWidth - 4)) + "px"
		told.style.top = Math.max(0, top - told.offsetHeight - 8) + "px"
	}
	plot.addEventListener("pointermove", show)
	plot.addEventListener("pointerdown", show)
	plot.addEventListener("pointerleave", () => { told.hidden = true })
}
