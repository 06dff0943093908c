DROP INDEX IF EXISTS deductions_by_expiry;
