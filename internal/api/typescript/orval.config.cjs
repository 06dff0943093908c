const input = "openapi.yaml";

module.exports = {
  client: { input, output: { target: "generated/orval.ts", client: "fetch", baseUrl: process.env.INVENTORY_URL } },
  zod: { input, output: { target: "generated/orval-zod.ts", client: "zod" } },
};
