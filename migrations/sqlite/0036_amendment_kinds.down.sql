ALTER TABLE amendments DROP COLUMN kind;
ALTER TABLE amendments DROP COLUMN reason;
