-- For programs that write to the tables of a shard directly: wait while Citus moves the shard, and raise IN001 if it has gone
-- to another node.
--
-- It takes the lock that Citus' own executor takes for a write (5: ShareLock), until the end of the transaction. A move takes
-- the same lock exclusively. The query after it has a snapshot of its own, which shows a move that it has waited for.
--
-- Only the owner of a table may take its locks, so it runs with the owner's rights.
CREATE OR REPLACE FUNCTION inventory_here(shard bigint) RETURNS boolean LANGUAGE plpgsql VOLATILE
    SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM lock_shard_metadata(5, ARRAY[shard]);
    IF NOT EXISTS (SELECT FROM pg_dist_placement p JOIN pg_dist_local_group l USING (groupid) WHERE p.shardid = shard) THEN
        RAISE EXCEPTION 'the shard % is on another node', shard USING ERRCODE = 'IN001';
    END IF;
    RETURN true;
END $$
