-- The server and the connection: its clock, whether it takes writes, notifications.

-- name: clock
-- Out: the time, and whether the server is a standby or takes no writes by default
SELECT clock_timestamp(), pg_is_in_recovery() OR current_setting('default_transaction_read_only')::boolean;

-- name: instant
-- In:  @at the given instant (null: none)
-- Out: the instant of a decision, once the transaction has its locks
SELECT coalesce(@at::timestamptz, clock_timestamp());

-- name: limit_waits
-- In: @timeout how long the transaction waits for each row from now on
SELECT set_config('lock_timeout', @timeout, true);

-- name: readiness
-- Out: true for a standby, and for a server that is set to read-only; the rights that the role lacks for a write ('': none)
SELECT pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean,
       coalesce((SELECT string_agg(needs, ', ') FROM (
           SELECT 'EXECUTE on inventory_require' AS needs
           WHERE NOT has_function_privilege(to_regprocedure('inventory_require(boolean, bigint)'), 'EXECUTE')
           UNION ALL
           SELECT kind || ' on ' || name
           FROM unnest(ARRAY['stock_segments', 'deductions', 'deduction_parts', 'buyers', 'orders', 'order_lines', 'order_changes',
                             'amendments', 'additions', 'movements', 'skus']) AS name,
                unnest(ARRAY['SELECT', 'INSERT', 'UPDATE']) AS kind
           WHERE NOT has_table_privilege(to_regclass(name), kind)
       ) AS missing), '');

-- name: notify
-- In: @sku_id
--
-- A restock sends the SKU's id on this channel. A deduction never does: transactions that notify commit one after another.
SELECT pg_notify('inventory_restocked', @sku_id);

-- name: notify_all
-- In: @sku_ids
SELECT pg_notify('inventory_restocked', sku) FROM unnest(@sku_ids::text[]) AS sku;

-- name: echo
-- In: @text that the listener waits for
SELECT pg_notify('inventory_echo', @text);
