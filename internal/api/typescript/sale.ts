import assert from "node:assert/strict";

export const url = process.env.INVENTORY_URL!;
export const sku = { stock: 10, segments: 2, max_reserve_for: "1h" };
export const order = { order_id: "order 1", buyer_id: "Cécile 😀", quantity: 2, reserve_for: "15m" };
export const change = { ref: "any time", max_reserve_for: null };

type Sale = {
  created?: { stock: number; available: number };
  changed?: { max_reserve_for?: string | number | boolean | null };
  sold?: { status: string; quantity: number };
  read?: { order_id: string; buyer_id?: string; parts: { quantity: number }[] };
  refused?: { code?: string };
};

// check ends the program with an error if what a client has got is not what the service says.
export function check(sale: Sale) {
  assert.equal(sale.created?.available, sku.stock);
  assert.equal(sale.changed?.max_reserve_for, null);
  assert.equal(sale.sold?.status, "reserved");
  assert.equal(sale.read?.order_id, order.order_id);
  assert.equal(sale.read?.buyer_id, order.buyer_id);
  assert.equal(sale.read?.parts.reduce((sum, part) => sum + part.quantity, 0), order.quantity);
  assert.equal(sale.refused?.code, "unknown_sku");
}
