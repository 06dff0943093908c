import createClient from "openapi-fetch";
import type { paths } from "./generated/openapi-typescript";
import { change, check, order, sku, url } from "./sale";

async function main() {
  const client = createClient<paths>({ baseUrl: url });
  const at = { path: { sku: "openapi-fetch" } };
  const created = await client.PUT("/v1/skus/{sku}", { params: at, body: sku });
  const changed = await client.PATCH("/v1/skus/{sku}", { params: at, body: change });
  const sold = await client.POST("/v1/skus/{sku}/deductions", { params: at, body: order });
  const one = { path: { ...at.path, order_id: order.order_id } };
  const read = await client.GET("/v1/skus/{sku}/deductions/{order_id}", { params: one });
  const refused = await client.GET("/v1/skus/{sku}", { params: { path: { sku: "none" } } });
  check({ created: created.data, changed: changed.data, sold: sold.data, read: read.data, refused: refused.error });
}

void main();
