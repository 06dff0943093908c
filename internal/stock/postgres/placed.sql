-- Where the shards of the SKUs are, by their lowest hash, and the name of each table there. Tables of one group are always
-- moved and split together.
SELECT first.shardid, first.shardminvalue::integer, n.nodename, n.nodeport,
       array_agg(t.logicalrelid::regclass::text ORDER BY t.logicalrelid), array_agg(t.shardid ORDER BY t.logicalrelid)
FROM pg_dist_shard first
JOIN pg_dist_placement p ON p.shardid = first.shardid
JOIN pg_dist_node n ON n.groupid = p.groupid AND n.noderole = 'primary'
JOIN pg_dist_shard t ON t.shardminvalue = first.shardminvalue AND t.logicalrelid IN (
    SELECT logicalrelid FROM pg_dist_partition
    WHERE colocationid = (SELECT colocationid FROM pg_dist_partition WHERE logicalrelid = 'skus'::regclass))
WHERE first.logicalrelid = 'skus'::regclass
GROUP BY 1, 2, 3, 4
ORDER BY 2
