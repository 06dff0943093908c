// Calls of the API. The key that a person types in is kept for this tab only, and is sent with every call.

const root = new URL("../", import.meta.url);
const keyName = "inventory.key";

export const key = () => sessionStorage.getItem(keyName) ?? "";
export const setKey = (value) => (value ? sessionStorage.setItem(keyName, value) : sessionStorage.removeItem(keyName));

// Problem is a refusal by the service, with its text.
export class Problem extends Error {
	constructor(status, body) {
		const held = body.order_ids ? `; held by ${body.order_ids.join(", ")}` : "";
		super((body.detail ?? body.title ?? `the service answered ${status}`) + held);
		this.title = body.title ?? "";
		this.status = status;
		this.code = body.code ?? "";
	}
}

export function headers(more = {}) {
	return key() ? { ...more, authorization: `Bearer ${key()}` } : more;
}

export const address = (path) => new URL(path, root);

// call sends a request and returns the body of the answer. A signal ends the wait for it.
export async function call(method, path, body, signal) {
	const options = { method, headers: headers(), signal };
	if (body !== undefined) {
		options.headers["content-type"] = "application/json";
		options.body = JSON.stringify(body);
	}
	let answer;
	try {
		answer = await fetch(address(path), options);
	} catch {
		throw new Problem(0, { detail: "The service does not answer." });
	}
	const told = await answer.json().catch(() => ({}));
	if (!answer.ok) throw new Problem(answer.status, told);
	return told;
}

export const skuPath = (sku, rest = "") => `v1/skus/${encodeURIComponent(sku)}${rest}`;
export const wholePath = (order, rest = "") => `v1/orders/${encodeURIComponent(order)}${rest}`;
export const orderPath = (sku, order, rest = "") => skuPath(sku, `/deductions/${encodeURIComponent(order)}${rest}`);
