-- What was returned counts as cancelled, as before.
UPDATE deductions SET status = 'cancelled' WHERE status = 'returned';
ALTER TABLE deductions DROP COLUMN committed_at;
ALTER TABLE deductions DROP COLUMN ended_at;
ALTER TABLE deductions DROP COLUMN in_order;
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, ' OR status = ''returned''', '') WHERE type = 'table' AND name = 'deductions';
PRAGMA writable_schema = RESET;
