import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import { checkout } from "./checkout"; // of docs/CLIENTS.md
import type { paths } from "./inventory";

async function main() {
  const shop = createClient<paths>({ baseUrl: process.env.INVENTORY_URL! });
  for (const sku of ["lamp", "bulb"]) await shop.PUT("/v1/skus/{sku}", { params: { path: { sku } }, body: { stock: 5 } });
  const basket = (order_id: string, bulbs: number) => ({
    order_id, lines: [{ sku: "lamp", quantity: 1 }, { sku: "bulb", quantity: bulbs }],
  });
  const left = async (sku: string) => (await shop.GET("/v1/skus/{sku}", { params: { path: { sku } } })).data?.available;

  assert.equal(await checkout(basket("paid", 2), async () => true), "deliver");
  assert.equal(await checkout(basket("paid", 2), async () => true), "deliver"); // the same again
  assert.equal(await checkout(basket("unpaid", 1), async () => false), "nothing");
  assert.equal(await checkout(basket("unpaid", 1), async () => true), "order_ended");
  assert.equal(await checkout(basket("large", 4), async () => true), "insufficient_stock");
  assert.equal(await checkout(basket("paid", 2), async () => false), "deliver"); // it was paid before
  assert.deepEqual([await left("lamp"), await left("bulb")], [4, 3]);
}

void main();
