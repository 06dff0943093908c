import { createApiClient } from "./generated/openapi-zod-client";
import { change, check, order, sku, url } from "./sale";

async function main() {
  const client = createApiClient(url);
  const at = { params: { sku: "openapi-zod-client" } };
  const created = await client.createSKU(sku, at);
  const changed = await client.changeTerms(change, at);
  const sold = await client.deduct(order, at);
  const read = await client.readDeduction({ params: { ...at.params, order_id: order.order_id } });
  const refused = await client.readSKU({ params: { sku: "none" } }).then(
    () => undefined,
    (error: { response?: { data?: { code?: string } } }) => error.response?.data, // it makes no types of problems
  );
  check({ created, changed, sold, read, refused });
}

void main();
