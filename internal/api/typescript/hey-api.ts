import { changeTerms, createSku, deduct, readDeduction, readSku } from "./generated/hey-api";
import { client } from "./generated/hey-api/client.gen";
import { zNewDeduction } from "./generated/hey-api/zod.gen";
import { change, check, order, sku, url } from "./sale";

async function main() {
  client.setConfig({ baseUrl: url });
  zNewDeduction.parse(order);
  const path = { sku: "hey-api" };
  const created = await createSku({ path, body: sku, throwOnError: true });
  const changed = await changeTerms({ path, body: change, throwOnError: true });
  const sold = await deduct({ path, body: order, throwOnError: true });
  const read = await readDeduction({ path: { ...path, order_id: order.order_id }, throwOnError: true });
  const refused = await readSku({ path: { sku: "none" } });
  check({ created: created.data, changed: changed.data, sold: sold.data, read: read.data, refused: refused.error });
}

void main();
