DROP INDEX IF EXISTS deductions_by_buyer;
ALTER TABLE deductions DROP COLUMN limited;
