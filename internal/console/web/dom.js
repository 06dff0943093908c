// Elements are created once. Afterwards only their text and their attributes change.

// el makes an element: el("p.quiet", { title: "…", onclick: f }, "text", child).
export function el(name, properties = {}, ...children) {
	const [tag, ...classes] = name.split(".");
	const node = document.createElement(tag);
	if (classes.length) node.className = classes.join(" ");
	for (const [key, value] of Object.entries(properties)) {
		if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
		else if (value === true) node.setAttribute(key, "");
		else if (value !== false && value !== undefined && value !== null) node.setAttribute(key, value);
	}
	node.append(...children.filter((child) => child !== null && child !== undefined));
	return node;
}

// say sets an element's text if it differs.
export function say(node, text) {
	const next = String(text);
	if (node.textContent !== next) node.textContent = next;
}

// be sets or removes an attribute.
export function be(node, name, value) {
	if (value === null || value === false) {
		if (node.hasAttribute(name)) node.removeAttribute(name);
	} else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
}

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const fine = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });

export const count = (n) => whole.format(n);
export const units = (n, unit = "unit") => `${count(n)} ${unit}${n === 1 ? "" : "s"}`;
export const rate = (n) => (n > 0 && n < 10 ? fine : whole).format(n);
export const clock = (at) => new Date(at).toLocaleTimeString("en-GB");
export const when = (at) => `${new Date(at).toLocaleDateString("en-GB")} ${clock(at)}`;

// ago is the time since an instant, in words.
export function ago(at) {
	const seconds = Math.max(0, Math.round((Date.now() - at) / 1000));
	if (seconds < 120) return units(seconds, "second");
	return seconds < 7200 ? units(Math.floor(seconds / 60), "minute") : units(Math.floor(seconds / 3600), "hour");
}

let fields = 0;

// field makes a labelled input. Its name is the name of the request's member.
export function field(label, name, properties = {}, hint = "") {
	const id = `field-${++fields}`;
	const input = properties.options
		? el("select", { id, name }, ...properties.options.map(([value, text]) => el("option", { value }, text)))
		: el("input", { id, name, autocomplete: "off", ...properties });
	const note = hint ? el("small", { id: `${id}-hint` }, hint) : null;
	if (note) input.setAttribute("aria-describedby", note.id);
	return el("div.field", {}, el("label", { for: id }, label), input, note);
}

let toastEnds = 0;

// tell shows a sentence for a while, and has screen readers read it.
export function tell(text, bad = false) {
	const toast = document.getElementById("toast");
	toast.textContent = text;
	toast.className = bad ? "toast shown bad" : "toast shown";
	clearTimeout(toastEnds);
	toastEnds = setTimeout(() => { toast.className = "toast"; }, 6000);
}
