// Finds faults that keep people from using a page: controls without a name, pictures without a text, repeated ids,
// headings that skip a level, and text without enough contrast (WCAG 2.1 AA). It returns sentences.
(() => {
	const faults = [];
	const seen = (node) => node.checkVisibility({ opacityProperty: true, visibilityProperty: true });
	const called = (node) => `<${node.localName}${node.id && ` id=${node.id}`}${node.className && ` class="${node.className}"`}>`;
	const labels = (node) => [
		node.getAttribute("aria-label"),
		(node.getAttribute("aria-labelledby") ?? "").split(" ").map((id) => document.getElementById(id)?.textContent).join(""),
		...[...(node.labels ?? [])].map((label) => label.textContent),
	].join("").trim();

	for (const node of document.querySelectorAll("input, select, textarea, dialog, nav, [role=img], [role=region]")) {
		if (seen(node) && !labels(node) && node.type !== "hidden") faults.push(`${called(node)} has no label`);
	}
	for (const node of document.querySelectorAll("button, a[href], summary")) {
		if (seen(node) && !node.textContent.trim() && !labels(node)) faults.push(`${called(node)} has no name`);
	}
	for (const node of document.querySelectorAll("img:not([alt]), svg:not([role=img]):not([aria-hidden])")) faults.push(`${called(node)} has no words`);
	const ids = [...document.querySelectorAll("[id]")].map((node) => node.id);
	for (const id of new Set(ids.filter((id, i) => ids.indexOf(id) !== i))) faults.push(`the id ${id} is there twice`);
	for (const node of document.querySelectorAll("[aria-describedby], label[for]")) {
		const id = node.getAttribute("aria-describedby") ?? node.htmlFor;
		if (!document.getElementById(id)) faults.push(`${called(node)} names ${id}, which is not there`);
	}
	if (!document.documentElement.lang) faults.push("the page has no language");
	if (!document.title) faults.push("the page has no title");
	if (document.querySelectorAll("main").length !== 1) faults.push("the page has not one main part");
	let level = 0;
	for (const node of document.querySelectorAll("main :is(h1, h2, h3, h4)")) {
		const next = Number(node.localName[1]);
		if (seen(node) && next > level + 1) faults.push(`${called(node)} "${node.textContent}" leaves out a level`);
		level = next;
	}
	for (const node of document.querySelectorAll(".wide")) {
		if (node.scrollWidth > node.clientWidth && node.tabIndex < 0) faults.push(`${called(node)} scrolls, but not by keyboard`);
	}

	// Colours as numbers, in whichever form they are written.
	const pen = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true });
	const numbers = (colour) => {
		pen.clearRect(0, 0, 1, 1);
		pen.fillStyle = colour;
		pen.fillRect(0, 0, 1, 1);
		return [...pen.getImageData(0, 0, 1, 1).data];
	};
	const over = ([r, g, b, a], ground) => [r, g, b].map((part, i) => (part * a + ground[i] * (255 - a)) / 255);
	const groundOf = (node) => {
		if (!node) return [255, 255, 255];
		const colour = numbers(getComputedStyle(node).backgroundColor);
		return colour[3] === 255 ? colour.slice(0, 3) : over(colour, groundOf(node.parentElement));
	};
	const light = (colour) => colour.map((part) => part / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
		.reduce((sum, part, i) => sum + part * [0.2126, 0.7152, 0.0722][i], 0);
	const pale = new Set();
	for (const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT); walker.nextNode();) {
		const node = walker.currentNode.parentElement;
		if (!walker.currentNode.textContent.trim() || !seen(node) || node.closest(".skip, :disabled, noscript, .unseen")) continue;
		const style = getComputedStyle(node), ground = groundOf(node), size = parseFloat(style.fontSize);
		const [low, high] = [light(over(numbers(style.color), ground)), light(ground)].sort((a, b) => a - b);
		const contrast = (high + 0.05) / (low + 0.05), enough = size >= 24 || (size >= 18.66 && style.fontWeight >= 700) ? 3 : 4.5;
		if (contrast < enough) pale.add(`${called(node)} has a contrast of ${contrast.toFixed(2)}, and ${enough} are enough`);
	}
	return [...faults, ...pale];
})()
