package citus_test

// The helpers that several files of these tests use. make list-helpers writes this file.
//
// chaos_test.go
//   - sale: sells through two stores, like two processes: orders of one SKU and of two, each with its own id
//   - skuName
//   - startSale
//
// store_test.go
//   - cluster: starts a cluster that ends with the test
//   - distributed: creates a database with the schema, distributed over the nodes
//   - exec: runs a statement at the coordinator
//   - open
