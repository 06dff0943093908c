-- What is reserved is committed: nothing would end it, and who pays for it shall have it.
UPDATE deductions SET status = 'committed' WHERE status = 'reserved';
ALTER TABLE deductions DROP COLUMN expires_at;
ALTER TABLE deductions DROP COLUMN asked;
