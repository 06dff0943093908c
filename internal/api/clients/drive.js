// Does what each line of the input says with the TypeScript of docs/CLIENTS.md: a verb, an order id and a SKU. All lines at once.
const shop = require("./checkout.js");

const verbs = {
  reserve: (order_id, sku) => shop.reserve({ order_id, lines: [{ sku, quantity: 1 }] }),
  paid: (order_id) => shop.paid(order_id),
  unpaid: (order_id) => shop.unpaid(order_id),
};
const lines = require("node:fs").readFileSync(0, "utf8").trim().split("\n");
for (const line of lines) {
  const [verb, id, sku] = line.split(" ");
  verbs[verb](id, sku).then((next) => console.log(`${verb} ${id} ${next}`));
}
