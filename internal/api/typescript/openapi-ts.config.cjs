module.exports = {
  input: "openapi.yaml",
  output: "generated/hey-api",
  plugins: ["@hey-api/client-fetch", "@hey-api/typescript", "zod", { name: "@hey-api/sdk", validator: true }],
};
