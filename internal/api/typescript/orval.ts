import { changeTerms, createSKU, deduct, readDeduction, readSKU } from "./generated/orval";
import * as zod from "./generated/orval-zod";
import { change, check, order, sku } from "./sale";

async function main() {
  const name = "orval";
  const created = await createSKU(name, zod.createSKUBody.parse(sku));
  const changed = await changeTerms(name, change);
  const sold = await deduct(name, zod.deductBody.parse(order));
  const read = await readDeduction(name, order.order_id);
  const refused = await readSKU("none");
  if (created.status !== 201 || changed.status !== 201 || sold.status !== 201 || read.status !== 200 || refused.status !== 404) {
    throw new Error(JSON.stringify([created, changed, sold, read, refused]));
  }
  check({
    created: zod.createSKUResponse.parse(created.data),
    changed: zod.changeTermsResponse.parse(changed.data),
    sold: zod.deductResponse.parse(sold.data),
    read: zod.readDeductionResponse.parse(read.data),
    refused: refused.data,
  });
}

void main();
