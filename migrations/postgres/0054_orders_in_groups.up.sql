-- indexes: what uses the limit of a group up
CREATE INDEX CONCURRENTLY deductions_by_group ON deductions (counted_at, buyer_id) WHERE limited AND (status = 'reserved' OR status = 'committed') AND counted_at IS NOT NULL;
