-- Committed units are returned, and may be written off. committed_at is null if an older version committed it, or if it was
-- committed with created_at; ended_at is when it was cancelled or returned; in_order: it is a line of an order of several SKUs.
ALTER TABLE deductions ADD COLUMN committed_at INTEGER;
ALTER TABLE deductions ADD COLUMN ended_at INTEGER;
ALTER TABLE deductions ADD COLUMN in_order INTEGER;
-- A wider constraint changes no row, so it is written into the schema: a new table would lose the triggers of the outbox.
-- See "Making Other Kinds Of Table Schema Changes", https://sqlite.org/lang_altertable.html
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, 'status = ''committed'' OR status = ''reserved'' OR status = ''cancelled'' OR status = ''expired''', 'status = ''committed'' OR status = ''reserved'' OR status = ''cancelled'' OR status = ''expired'' OR status = ''returned''')
WHERE type = 'table' AND name = 'deductions';
PRAGMA writable_schema = RESET;
